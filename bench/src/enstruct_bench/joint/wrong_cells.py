"""Cells of the training table made wrong, and how well each side finds them again.

flips    cells drawn uniformly
swaps    a label that a row has moved to one that it lacks; in a hierarchy, one of which it has none below, to a sibling
drops    a label that a row has taken away

Of the cells 5% are wrong, but of the labels that rows have at most a fifth is moved or taken, and never the last one of a label.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score

from enstruct.data.hierarchy import Hierarchy
from enstruct.metrics import Counts
from enstruct_bench.joint.table import Array

NOISE = ("flips", "swaps", "drops")
SHARE, MOST_OF_PRESENT = 0.05, 0.2


def made_wrong(
    Y: Array, kind: str, seed: int, hierarchy: Hierarchy | None = None
) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """(the table with wrong cells, which they are)."""
    rng = np.random.default_rng([seed, NOISE.index(kind)])
    noisy = np.array(Y, dtype=np.float32)
    wrong = round(SHARE * Y.size)
    if kind == "flips":
        cells = rng.choice(Y.size, wrong, replace=False)
        noisy.flat[cells] = 1 - noisy.flat[cells]
        _restore_constant(noisy, Y)
        return noisy, noisy != Y
    tree = None if hierarchy is None or kind != "swaps" else _Tree(hierarchy)
    row, label = np.nonzero(Y if tree is None else (Y > 0) & ~tree.has_any_below(Y))
    count = min(wrong // (2 if kind == "swaps" else 1), int(MOST_OF_PRESENT * len(row)))
    taken = rng.choice(len(row), count, replace=False)
    for i, j in zip(row[taken], label[taken], strict=True):
        noisy[i, j] = 0
        if kind == "swaps":
            lacking = np.flatnonzero((Y[i] == 0) & (noisy[i] == 0) & (True if tree is None else tree.siblings[j]))
            if len(lacking) == 0:
                noisy[i, j] = Y[i, j]
            else:
                noisy[i, rng.choice(lacking)] = 1
    _restore_constant(noisy, Y)
    return noisy, noisy != Y


class _Tree:
    """``siblings`` (labels, labels): whether two have a parent in common, or none; ``below``: whether the second is the first's
    child."""

    def __init__(self, hierarchy: Hierarchy) -> None:
        self.below = np.zeros((hierarchy.n_labels, hierarchy.n_labels), dtype=bool)
        for parent, child in hierarchy.edges:
            self.below[parent, child] = parent != child
        counts = self.below.astype(np.float32)
        top = counts.sum(0) == 0
        self.siblings = (counts.T @ counts > 0) | np.outer(top, top)
        np.fill_diagonal(self.siblings, False)

    def has_any_below(self, Y: Array) -> NDArray[np.bool_]:
        """(rows, labels)."""
        return (np.asarray(Y, dtype=np.float32) @ self.below.T.astype(np.float32)) > 0


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
