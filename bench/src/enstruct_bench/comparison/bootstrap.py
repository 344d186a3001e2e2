"""Intervals for paired differences, by a hierarchical bootstrap over seeds and test rows.

Two methods are scored on the same test rows by ratios of sums of what each row counts (:mod:`enstruct.metrics.base`), of which
means over rows are one case. One replicate draws seeds with replacement and, within them, one draw of rows shared by all (the
rows are the same in every seed, so their difficulty is common to all). The interval is the 2.5th to the 97.5th percentile of
the replicates' means. What the seeds of a replicate deviate from their mean is widened by sqrt(n / (n - 1)): n seeds drawn from
n vary by that much less than n new ones would, and seeds are few.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from enstruct.metrics import Counts


class Interval(NamedTuple):
    mean: float
    low: float
    high: float


def paired_difference(a: Sequence[Counts], b: Sequence[Counts], replicates: int = 2000, seed: int = 0) -> Interval:
    """Mean over runs of the score of ``b`` less that of ``a``, with its 95% interval; each the counts of a run's test rows.

    Of a mean over rows each row counts one below; of scores such as the micro F1 of spans, what it holds.
    """
    counts = np.stack([[[_dense(side) for side in run] for run in runs] for runs in (a, b)])  # (2, runs, 2, rows, parts)
    n_seeds, n_rows = counts.shape[1], counts.shape[3]

    def differences(weights: NDArray[Any]) -> NDArray[np.float64]:
        """(draws, runs), of how often each row is drawn (draws, rows)."""
        sums = np.tensordot(weights.astype(np.float64), counts, axes=(1, 3))  # (draws, 2, runs, 2, parts)
        scores = (sums[:, :, :, 0] / np.maximum(sums[:, :, :, 1], 1e-12)).mean(-1)
        return np.asarray(scores[:, 1] - scores[:, 0])

    seeds, weight = _draws(n_seeds, n_rows, replicates, seed)
    pieces = np.array_split(weight, max(1, weight.size // 2**24))
    of_seeds = _widened(np.concatenate([differences(piece) for piece in pieces]))
    low, high = np.percentile(np.take_along_axis(of_seeds, seeds, axis=1).mean(1), [2.5, 97.5])
    return Interval(float(differences(np.ones((1, n_rows))).mean()), float(low), float(high))


def _dense(side: Any) -> NDArray[np.float64]:
    return np.asarray(side.toarray() if sparse.issparse(side) else side, dtype=np.float64)


def _widened(of_seeds: NDArray[np.float64]) -> NDArray[np.float64]:
    """(replicates, seeds)."""
    n = of_seeds.shape[1]
    if n == 1:
        return of_seeds
    mean = of_seeds.mean(1, keepdims=True)
    return np.asarray(mean + (of_seeds - mean) * np.sqrt(n / (n - 1)))


@lru_cache(maxsize=6)  # five splits, and one
def _draws(n_seeds: int, n_rows: int, replicates: int, seed: int) -> tuple[NDArray[np.int64], NDArray[np.uint16]]:
    """Seeds drawn (replicates, seeds), and how often each row is (replicates, rows): tables of one shape share them."""
    rng = np.random.default_rng(seed)
    seeds = np.empty((replicates, n_seeds), dtype=np.int64)
    weight = np.empty((replicates, n_rows), dtype=np.uint16)
    for r in range(replicates):
        seeds[r] = rng.integers(n_seeds, size=n_seeds)
        weight[r] = np.bincount(rng.integers(n_rows, size=n_rows), minlength=n_rows)
    return seeds, weight


def difference_over_splits(a: Sequence[Counts], b: Sequence[Counts], replicates: int = 2000, seed: int = 0) -> Interval:
    """As :func:`paired_difference` where every run has test rows of its own: rows are drawn anew in each run that is drawn.

    Rows may be of another number from run to run, not from ``a`` to ``b``.
    """
    of_runs, means = [], []
    for number, (left, right) in enumerate(zip(a, b, strict=True)):
        pair = np.stack([[_dense(side) for side in run] for run in (left, right)])  # (2, 2, rows, parts)
        n_rows = pair.shape[2]
        _, weight = _draws(1, n_rows, replicates, seed + number)
        sums = np.tensordot(np.concatenate([np.ones((1, n_rows)), weight]), pair, axes=(1, 2))  # (draws, 2, 2, parts)
        scores = (sums[:, :, 0] / np.maximum(sums[:, :, 1], 1e-12)).mean(-1)
        of_runs.append(scores[1:, 1] - scores[1:, 0])
        means.append(scores[0, 1] - scores[0, 0])
    drawn = np.random.default_rng([seed, len(of_runs)]).integers(len(of_runs), size=(replicates, len(of_runs)))
    low, high = np.percentile(np.take_along_axis(_widened(np.stack(of_runs, axis=1)), drawn, axis=1).mean(1), [2.5, 97.5])
    return Interval(float(np.mean(means)), float(low), float(high))
