"""Intervals of scores by the bootstrap over rows: what scores would be on other rows drawn like these.

    score*_b = mean over parts k of  sum_r w_br above[r, k] / sum_r w_br below[r, k],      w_b ~ Multinomial(rows; 1/rows each)
    [low, high] = the quantiles 2.5% and 97.5% of score*_1 ... score*_B                    (Efron 1979, percentile)

As a metric is a ratio of sums of what each row counts (:mod:`enstruct.metrics.base`), a draw of rows needs no second look at
answers: it weighs counts. All scores are of the same draws.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from enstruct.metrics.base import Counts, ratio

DRAWS = 1000
BLOCK = 2**22
"""Weights that are held at a time."""
SHARES = (0.025, 0.975)
Key = TypeVar("Key", bound=Hashable)


class Interval(NamedTuple):
    """A score, and the ends of its interval of 95%; NaN where there is none."""

    value: float
    low: float
    high: float


class Counted(NamedTuple):
    """What rows count for a score, which of a part without anything to count is ``empty``. ``apart``: the score is the mean over
    parts of the ratios; else it is the sum of |above|, part by part, over the sum of below."""

    counts: Counts
    empty: float = 0.0
    apart: bool = True

    def score(self) -> float:
        """Of the rows as they are."""
        if self.apart:
            return ratio(self.counts, empty=self.empty)
        above, below = (np.asarray(side.sum(axis=0), dtype=np.float64).ravel() for side in self.counts)
        return float(np.abs(above).sum() / max(below.sum(), 1e-300))


def weights(n_rows: int, draws: int, seed: int) -> Iterator[NDArray[np.float64]]:
    """(some draws, rows) how often each row is drawn, in blocks that make ``draws`` together."""
    rng, step = np.random.default_rng(seed), max(1, BLOCK // max(1, n_rows))
    for start in range(0, draws, step):
        block = np.empty((min(step, draws - start), n_rows))
        for one in block:
            one[:] = np.bincount(rng.integers(0, n_rows, n_rows), minlength=n_rows)
        yield block


def intervals(counted: Mapping[Key, Counted], seed: int, draws: int = DRAWS) -> dict[Key, Interval]:
    """Of every score of the same rows. Without rows, or with a single one, there are no intervals."""
    values = {key: one.score() for key, one in counted.items()}
    n_rows = next((one.counts.above.shape[0] for one in counted.values()), 0)
    if n_rows < 2:
        return {key: Interval(value, np.nan, np.nan) for key, value in values.items()}
    drawn: dict[Key, list[NDArray[np.float64]]] = {key: [] for key in counted}
    for block in weights(n_rows, draws, seed):
        for key, one in counted.items():
            drawn[key].append(_scores(one, block))
    ends = {key: np.nanquantile(np.concatenate(parts), SHARES) for key, parts in drawn.items()}
    return {key: Interval(value, float(ends[key][0]), float(ends[key][1])) for key, value in values.items()}


def _scores(one: Counted, weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """(draws,)."""
    above, below = (_sums(side, weight) for side in one.counts)  # (draws, parts)
    if not one.apart:
        return np.asarray(np.abs(above).sum(1) / np.maximum(below.sum(1), 1e-300))
    scores = np.divide(above, below, out=np.full_like(above, one.empty), where=below > 0)
    return np.asarray(scores.mean(1))


def _sums(side: Any, weight: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray((side.T @ weight.T).T)  # which is dense, of counts that are CSR too
