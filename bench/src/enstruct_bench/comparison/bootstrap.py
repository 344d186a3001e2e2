"""Intervals for paired differences, by a hierarchical bootstrap over seeds and test rows.

For the difference table d (seeds, rows) of two methods on the same test rows, one replicate draws seeds with
replacement and, within them, one draw of rows shared by all (the rows are the same in every seed, so
their difficulty is common to all). The interval is the 2.5th to the 97.5th percentile of the replicates' means. What the seeds
of a replicate deviate from their mean is widened by sqrt(n / (n - 1)): n seeds drawn from n vary by that much less than n new
ones would, and seeds are few.
"""

from __future__ import annotations

from functools import lru_cache
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
    n_seeds, n_rows = a.shape[:2]

    def scores(counts: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
        sums = np.einsum("srk,dr->dsk", counts, weights, optimize=True)
        return sums[..., 0] / np.maximum(sums[..., 1], 1e-12)  # (draws, seeds)

    seeds, weight = _draws(n_seeds, n_rows, replicates, seed)
    some = [each.astype(np.float64) for each in np.array_split(weight, max(1, weight.size // 2**24))]
    difference = _widened(np.concatenate([scores(b, each) - scores(a, each) for each in some]))
    whole = np.ones((1, n_rows))
    low, high = np.percentile(np.take_along_axis(difference, seeds, axis=1).mean(1), [2.5, 97.5])
    return Interval(float((scores(b, whole) - scores(a, whole)).mean()), float(low), float(high))


def paired_difference(a: NDArray[np.float64], b: NDArray[np.float64], replicates: int = 2000, seed: int = 0) -> Interval:
    """Mean of ``b - a`` with its 95% interval; both (seeds, rows)."""
    difference = b - a
    n_seeds, n_rows = difference.shape
    seeds, weight = _draws(n_seeds, n_rows, replicates, seed)
    some = np.array_split(weight, max(1, weight.size // 2**24))
    of_seeds = np.concatenate([each @ difference.T for each in some]) / n_rows  # (replicates, seeds) mean over the rows drawn
    means = np.take_along_axis(_widened(of_seeds), seeds, axis=1).mean(1)
    low, high = np.percentile(means, [2.5, 97.5])
    return Interval(float(difference.mean()), float(low), float(high))


def _widened(of_seeds: NDArray[np.float64]) -> NDArray[np.float64]:
    """(replicates, seeds)."""
    n = of_seeds.shape[1]
    if n == 1:
        return of_seeds
    mean = of_seeds.mean(1, keepdims=True)
    return np.asarray(mean + (of_seeds - mean) * np.sqrt(n / (n - 1)))


@lru_cache(maxsize=4)
def _draws(n_seeds: int, n_rows: int, replicates: int, seed: int) -> tuple[NDArray[np.int64], NDArray[np.uint16]]:
    """Seeds drawn (replicates, seeds), and how often each row is (replicates, rows): tables of one shape share them."""
    rng = np.random.default_rng(seed)
    seeds = np.empty((replicates, n_seeds), dtype=np.int64)
    weight = np.empty((replicates, n_rows), dtype=np.uint16)
    for r in range(replicates):
        seeds[r] = rng.integers(n_seeds, size=n_seeds)
        weight[r] = np.bincount(rng.integers(n_rows, size=n_rows), minlength=n_rows)
    return seeds, weight
