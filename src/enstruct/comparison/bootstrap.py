"""Intervals for paired differences, by a hierarchical bootstrap over seeds and test rows.

For the difference table d (seeds, rows) of two methods on the same test rows, one replicate draws seeds with
replacement and, within them, one draw of rows shared by all (the rows are the same in every seed, so
their difficulty is common to all). The interval is the 2.5th to the 97.5th percentile of the replicates' means.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Interval(NamedTuple):
    mean: float
    low: float
    high: float


def paired_ratio_difference(a: NDArray[np.float64], b: NDArray[np.float64], replicates: int = 2000, seed: int = 0) -> Interval:
    """Difference of the mean over seeds of ratios of sums; both (seeds, rows, 2), numerators and denominators.

    For scores such as the micro F1 of spans, which are no means over rows.
    """
    rng = np.random.default_rng(seed)
    n_seeds, n_rows = a.shape[:2]

    def score(counts: NDArray[np.float64], weight: NDArray[np.float64]) -> NDArray[np.float64]:
        sums = np.einsum("srk,r->sk", counts, weight)
        return sums[:, 0] / np.maximum(sums[:, 1], 1e-12)  # (seeds,)

    drawn = np.empty(replicates)
    for r in range(replicates):
        seeds = rng.integers(n_seeds, size=n_seeds)
        weight = np.bincount(rng.integers(n_rows, size=n_rows), minlength=n_rows).astype(np.float64)
        drawn[r] = (score(b, weight) - score(a, weight))[seeds].mean()
    whole = np.ones(n_rows)
    low, high = np.percentile(drawn, [2.5, 97.5])
    return Interval(float((score(b, whole) - score(a, whole)).mean()), float(low), float(high))


def paired_difference(a: NDArray[np.float64], b: NDArray[np.float64], replicates: int = 2000, seed: int = 0) -> Interval:
    """Mean of ``b - a`` with its 95% interval; both (seeds, rows)."""
    difference = b - a
    n_seeds, n_rows = difference.shape
    rng = np.random.default_rng(seed)
    means = np.empty(replicates)
    for r in range(replicates):
        seeds = rng.integers(n_seeds, size=n_seeds)
        rows = rng.integers(n_rows, size=n_rows)
        means[r] = difference[seeds].mean(0)[rows].mean()
    low, high = np.percentile(means, [2.5, 97.5])
    return Interval(float(difference.mean()), float(low), float(high))
