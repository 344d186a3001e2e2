"""A metric is a ratio of sums of what each row counts, so that the score of any rows, and of any draw of them, is made of theirs.

    score = mean over parts k of  sum_r w_r above[r, k] / sum_r w_r below[r, k]          w_r: weights of rows, 1 by default

There is one part, but for means over labels. A part that has nothing to count has the score ``empty``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from enstruct.validation import one_of


class Counts(NamedTuple):
    """``above`` and ``below``, each (rows, parts), dense or CSR."""

    above: Any
    below: Any

    def take(self, rows: Any) -> Counts:
        """Of some rows alone."""
        return Counts(self.above[rows], self.below[rows])

    @classmethod
    def of(cls, above: Any, below: Any = 1.0) -> Counts:
        """Of one part: numbers of the rows (rows,), over as many or over one number for all of them."""
        above = np.asarray(above, dtype=np.float64)
        return cls(above[:, None], np.broadcast_to(np.asarray(below, dtype=np.float64), above.shape)[:, None])

    @classmethod
    def joined(cls, parts: Sequence[Counts]) -> Counts:
        """The rows of all of them; dense ones."""
        return cls(*(np.concatenate([part[side] for part in parts]) for side in (0, 1)))


def ratio(counts: Counts, weight: Any = None, empty: float = 0.0) -> float:
    """The score of the rows counted; ``weight`` (rows,)."""
    above, below = (_sums(side, weight) for side in counts)
    scores = np.divide(above, below, out=np.full_like(above, empty), where=below > 0)
    return float(scores.mean())


def _sums(side: Any, weight: Any) -> NDArray[np.float64]:
    """(parts,)."""
    if weight is not None:
        scale = np.asarray(weight, dtype=np.float64)[:, None]
        side = side.multiply(scale) if sparse.issparse(side) else side * scale
    return np.asarray(side.sum(axis=0, dtype=np.float64)).ravel()


@dataclass(frozen=True)
class Metric:
    """``counts(truth, predicted, ...)`` gives those of the rows; calling the metric gives the score, higher is better."""

    counts: Callable[..., Counts]
    empty: float = 0.0

    def __call__(self, truth: Any, predicted: Any, sample_weight: Any = None, **form: Any) -> float:
        """``form``: what the outputs of a kind need beside themselves, as masks their number of classes."""
        return ratio(self.counts(truth, predicted, **form), sample_weight, self.empty)


def named(kind: str, name: str, metrics: Mapping[str, Metric]) -> Metric:
    """The metric of that name; ConfigError names the nearest."""
    one_of(kind, metrics)("metric", name)
    return metrics[name]
