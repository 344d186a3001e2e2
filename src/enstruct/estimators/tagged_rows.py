"""From sentences and tags to training rows: those that have a tag and a weight, in numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from enstruct.data.rows import Rows
from enstruct.estimators.label_rows import proportional, row_weights
from enstruct.estimators.tag_format import TagFormat
from enstruct.estimators.token_format import Token, TokenFormat, check_pairs

Sentence = Sequence[Token]


class Tagged(NamedTuple):
    """A sentence with a tag for each token, None in holes, and its weight."""

    tokens: Sentence
    tags: Sequence[str | None]
    weight: float = 1.0


def tagged(sentences: Any, tags: Any, sample_weight: Any = None) -> list[Tagged]:
    """Those that have a tag, and a weight above 0. DataError for pairs that do not go together."""
    check_pairs(sentences, tags)
    weight = np.ones(len(sentences)) if sample_weight is None else row_weights(sample_weight, sentences)
    pairs = map(Tagged, sentences, tags, weight.tolist())
    return [pair for pair in pairs if pair.weight > 0 and any(tag is not None for tag in pair.tags)]


def tagged_rows(pairs: Sequence[Tagged], tokens: TokenFormat, tags: TagFormat, unit: float | None = None) -> Rows:
    """In numbers, weights over ``unit``, by default their mean. DataError for tags that the format does not know."""
    numbers = tags.encode([pair.tags for pair in pairs])
    holes = [(row < 0).tolist() for row in numbers.split()]
    weight = proportional([pair.weight for pair in pairs], unit)
    return Rows(tokens.encode([pair.tokens for pair in pairs], holes), numbers, weight)
