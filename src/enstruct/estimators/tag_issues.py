"""Which given tags are probably wrong: those that neither the sentence nor its other tags make likely.

    quality_t = p(y_t | x, all tags outside of the span, or run of O, that token t is in)       by a tagger of other sentences

A whole span is opened at once: given its neighbours within it, a tag is as good as settled, whatever its type; and so is an O
beside others where a span was forgotten. What the scheme forbids is not left out, under rules what they forbid is: to be told
that a span cannot end here makes tags around an error suspect that are right. Of a tagger that answers token by token quality_t
is its own probability of the tag; of a conditional random field the tags of other spans count too. Measured against its
alternatives: `enstruct_bench.joint.tags_wrong`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from enstruct.errors import DataError
from enstruct.estimators.base import seed_of
from enstruct.estimators.tag_format import Sentence
from enstruct.estimators.tagger import EnergySequenceTagger
from enstruct.estimators.token_format import check_pairs


@dataclass(frozen=True)
class TagIssues:
    """``quality``: for each sentence (tokens,) in [0, 1], NaN where no tag was given."""

    quality: list[NDArray[np.float64]]

    def cells(self) -> list[tuple[int, int, float]]:
        """(sentence, token, quality) of every given tag, the least likely first."""
        flat = np.concatenate([*self.quality, np.zeros(0)])
        sentence = np.repeat(np.arange(len(self.quality)), [len(row) for row in self.quality])
        token = np.fromiter(chain.from_iterable(range(len(row)) for row in self.quality), np.int64, len(flat))
        order = np.argsort(flat, kind="stable")[: int((~np.isnan(flat)).sum())]
        return list(zip(sentence[order].tolist(), token[order].tolist(), flat[order].tolist(), strict=True))

    def rows(self) -> list[tuple[int, float]]:
        """(sentence, its lowest quality), the least likely first; those without a given tag are left out."""
        lowest = [(i, float(np.nanmin(row))) for i, row in enumerate(self.quality) if not np.isnan(row).all()]
        return sorted(lowest, key=lambda pair: pair[1])


def tag_issues(
    X: Sequence[Sentence],
    y: Sequence[Sequence[str | None]],
    base: EnergySequenceTagger | None = None,
    *,
    folds: int = 5,
    random_state: Any = None,
) -> TagIssues:
    """The quality of each given tag, cross-fitted; tags may be open (None).

    base : an unfitted tagger, by default a conditional random field, ``EnergySequenceTagger("crf")``; a copy of it is trained for
        each fold. DataError for sentences too few for that, and what the tagger itself refuses.
    """
    check_pairs(X, y)
    seed = seed_of(random_state)
    base = EnergySequenceTagger("crf") if base is None else base
    told = [i for i, row in enumerate(y) if any(tag is not None for tag in row)]
    if len(told) < 2 * folds:
        raise DataError(f"{len(told)} sentences with a tag are too few for {folds} folds of two.")
    tags = sorted({tag for row in y for tag in row if tag is not None})
    quality = [np.full(len(row), np.nan) for row in y]
    fold_of = np.random.default_rng(seed).permutation(len(told)) % folds
    for fold in range(folds):
        train, out = ([told[k] for k in np.flatnonzero(side)] for side in (fold_of != fold, fold_of == fold))
        tagger = clone(base).set_params(random_state=seed, classes=tags if base.classes is None else base.classes)
        found = tagger.fit([X[i] for i in train], [y[i] for i in train]).tag_quality([X[i] for i in out], [y[i] for i in out])
        for i, row in zip(out, found, strict=True):
            quality[i] = row
    return TagIssues(quality)
