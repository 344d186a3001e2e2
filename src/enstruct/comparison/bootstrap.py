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
