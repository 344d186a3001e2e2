"""Cells of the training table made wrong, and how well each side finds them again.

flips    cells drawn uniformly
swaps    a label that a row has moved to one that it lacks
drops    a label that a row has taken away

Of the cells 5% are wrong, but of the labels that rows have at most a fifth is moved or taken, and never the last one of a label.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score

from enstruct.metrics import Counts
from enstruct_bench.joint.table import Array

NOISE = ("flips", "swaps", "drops")
SHARE, MOST_OF_PRESENT = 0.05, 0.2


def made_wrong(Y: Array, kind: str, seed: int) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """(the table with wrong cells, which they are)."""
    rng = np.random.default_rng([seed, NOISE.index(kind)])
    noisy = np.array(Y, dtype=np.float32)
    wrong = round(SHARE * Y.size)
    if kind == "flips":
        cells = rng.choice(Y.size, wrong, replace=False)
        noisy.flat[cells] = 1 - noisy.flat[cells]
        _restore_constant(noisy, Y)
        return noisy, noisy != Y
    row, label = np.nonzero(Y)
    count = min(wrong // (2 if kind == "swaps" else 1), int(MOST_OF_PRESENT * len(row)))
    taken = rng.choice(len(row), count, replace=False)
    for i, j in zip(row[taken], label[taken], strict=True):
        noisy[i, j] = 0
        if kind == "swaps":
            lacking = np.flatnonzero((Y[i] == 0) & (noisy[i] == 0))
            if len(lacking):
                noisy[i, rng.choice(lacking)] = 1
    _restore_constant(noisy, Y)
    return noisy, noisy != Y


def _restore_constant(noisy: Array, Y: Array) -> None:
    """Labels of which one value is left get their own column back: nothing could be learnt of them."""
    constant = noisy.min(0) == noisy.max(0)
    noisy[:, constant] = Y[:, constant]


def given_probability(p: Array, Y: Array) -> NDArray[np.float64]:
    """(rows, labels) what marginals p say of the labels as given."""
    return np.where(Y > 0.5, p, 1 - p)


def precision_of_suspects(quality: Array, wrong: Array) -> float:
    """Average precision of wrong cells, the lowest quality first."""
    return float(average_precision_score(wrong.ravel(), -np.asarray(quality, dtype=np.float64).ravel()))


def found_among_first(quality: Array, wrong: Array) -> Counts:
    """Of each row, wrong cells among the suspects, as many of these as cells are wrong, and wrong cells."""
    first = np.zeros(wrong.size, dtype=bool)
    first[np.argsort(quality.ravel(), kind="stable")[: int(wrong.sum())]] = True
    return Counts.of((first.reshape(wrong.shape) & wrong).sum(1), wrong.sum(1))
