"""``rules=`` of a tagger: compiled for its tags, counted on tagged sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from enstruct.data.tag_schemes import legal_transitions
from enstruct.estimators.tag_format import Sentence, TagFormat
from enstruct.estimators.token_format import as_tuple
from enstruct.rules.often import Count, check_seldom
from enstruct.rules.soft import Soft, bare
from enstruct.rules.tags import AtMostOnce, Gazetteer, NeverFollows, OnlyFollows, TagSystem, tag_may_be


def tag_system(rules: Any, tags: TagFormat) -> TagSystem:
    """What the scheme and the rules allow. ConfigError."""
    legal = legal_transitions(tags.tags, tags.scheme)
    return TagSystem.of(rules, tags.tags, tags.user_tags, tags.user_scheme, legal)


def several(rules: Any) -> list[Any]:
    return [] if rules is None else [*rules] if isinstance(rules, (list, tuple)) else [rules]


def counts(rules: Any, tags: TagFormat, X: Sequence[Sentence], y: Sequence[Sequence[str | None]]) -> list[Count]:
    """Of every rule over sentences X with tags y, of which some may be open (None)."""
    numbers, words = tags.encode(y).split(), plain_words(X)
    lists = [rule for rule in several(rules) if isinstance(bare(rule), Gazetteer)]
    out, together = [], tag_system(lists, tags)
    for rule in several(rules):
        alone = tag_system(rule, tags)
        if isinstance(bare(rule), Gazetteer):  # phrases of other lists take words from it, and say nothing
            alone = replace(together, idle=frozenset(k for k, one in enumerate(lists) if one is not rule))
        pairs = [
            (each, row)
            for each, row in zip(words, numbers, strict=True)
            if len(row) and _is_about(bare(rule), alone, tags, each, row)
        ]
        out.append(Count(str(rule), sum(alone.breaks(*pair) for pair in pairs), len(pairs)))
    return out


def check_sentences(rules: Any, tags: TagFormat, X: Sequence[Sentence], y: Sequence[Sequence[str | None]]) -> None:
    """DataError for a rule that binds and that tagged sentences break often."""
    binding = [rule for rule in several(rules) if not isinstance(rule, Soft)]
    mend = "mend them, or give it as a preference, Soft(rule, weight)"
    check_seldom(counts(binding, tags, X, y), "training sentences", mend)


def plain_words(X: Sequence[Sentence]) -> list[list[str]]:
    """The words of each sentence, further columns left out."""
    return [[as_tuple(token)[0] for token in sentence] for sentence in X]


def _is_about(rule: Any, alone: TagSystem, tags: TagFormat, words: Sequence[str], row: NDArray[np.int64]) -> bool:
    told = row[row >= 0]
    match rule:
        case Gazetteer():
            return bool(alone.phrase_costs(words).any())
        case AtMostOnce():
            return bool(alone.once[0][0][told].any())
        case NeverFollows() | OnlyFollows():
            return any(tag_may_be(rule.tag, tags.tags[k], tags.user_scheme) for k in set(told.tolist()))
        case _:
            return True
