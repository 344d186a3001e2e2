"""Extremely randomised trees for label sets: a simple baseline that is hard to beat where rows are few.

scikit-learn's trees (Geurts, Ernst & Wehenkel 2006), which split for all labels at once. Of many labels they see random
projections Y G, G Gaussian (labels, 64), drawn anew every five trees: sums of squares in Y, by which splits are chosen, change
little under it, and a tree's cost no longer grows with the labels (Joly, Geurts & Wehenkel 2014). Leaves have so many rows at
least as score best, of ``LEAVES``, at the tuned threshold on validation rows, 3 without them: with half of the trees, as fewer
make large leaves look better than they are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse

from enstruct.data.rows import Rows
from enstruct.decisions.thresholds import best_threshold_score
from enstruct.encoders.forest import CERTAIN, Forest, Tree
from enstruct.encoders.sparse_mlp import csr_batch

LEAVES, DEFAULT_LEAF = (3, 1, 10), 3
TREES, TREES_TO_CHOOSE, TREES_A_PROJECTION = 100, 50, 5
DIMENSIONS = 64
MOST_A_SPLIT = 100
"""Features that a split is chosen among, drawn anew for each where there are more."""
MOST_DENSE = 2**28
"""Cells of sparse features that are grown on as a dense array, which takes a fraction of the time."""


def fit_extra_trees(
    train: Rows,
    validation: Rows | None,
    positive_weight: NDArray[Any] | None = None,
    seed: int = 0,
    metric: str = "example-f1",
    should_stop: Callable[[], bool] = lambda: False,
    leaf: int | None = None,
) -> Forest:
    """``positive_weight`` (labels,) multiplies each label's odds; ``should_stop``: when to grow no more, five trees at least.

    ``leaf``: so many rows, and none to be chosen.
    """
    X = _growable(train.X)
    best, highest = _Growth(X, train, DEFAULT_LEAF if leaf is None else leaf, seed), -np.inf
    if validation is not None and leaf is None:
        for size in LEAVES:
            growth = _Growth(X, train, size, seed).until(TREES_TO_CHOOSE, should_stop)
            p = _marginals(growth.forest(positive_weight), validation.X)
            quality = best_threshold_score(p, validation.Y, metric, validation.weight)
            if quality > highest:
                best, highest = growth, quality
            if should_stop():
                break
    forest = best.until(TREES, should_stop).forest(positive_weight)
    forest.chosen = {"leaf": best.leaf}
    return forest


class _Growth:
    """Trees of one size of leaves, as many as were asked for so far."""

    def __init__(self, X: Any, train: Rows, leaf: int, seed: int) -> None:
        self._X, self._train, self.leaf = X, train, leaf
        self._rng = np.random.default_rng(seed)
        self._trees: list[Tree] = []

    def until(self, n_trees: int, should_stop: Callable[[], bool]) -> _Growth:
        from sklearn.ensemble import ExtraTreesRegressor  # only here: networks do without

        in_rows = self._X.tocsr() if sparse.issparse(self._X) else self._X
        while len(self._trees) < n_trees and not (self._trees and should_stop()):
            grown = ExtraTreesRegressor(
                TREES_A_PROJECTION,
                min_samples_leaf=self.leaf,
                max_features=min(MOST_A_SPLIT, self._X.shape[1]),
                n_jobs=torch.get_num_threads(),
                random_state=int(self._rng.integers(2**31)),
            ).fit(self._X, projected(self._train.Y, self._rng), sample_weight=self._train.weight)
            self._trees += [_arrays(tree.tree_, in_rows) for tree in grown.estimators_]
        return self

    def forest(self, positive_weight: NDArray[Any] | None) -> Forest:
        shift = 0.0 if positive_weight is None else np.log(np.maximum(positive_weight, CERTAIN))
        return Forest.of_trees(self._trees, self._train.Y, self._train.weight, shift)


def fits_densely(X: Any) -> bool:
    """Whether trees are grown on X as a dense array."""
    return not sparse.issparse(X) or np.prod(X.shape, dtype=float) <= MOST_DENSE


def _growable(X: Any) -> Any:
    if fits_densely(X):
        return np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float32)
    return sparse.csc_matrix(X, dtype=np.float32)


def projected(Y: Any, rng: np.random.Generator) -> NDArray[np.float64]:
    """(rows, ``DIMENSIONS``); few labels as they are, one label alone as (rows,)."""
    if Y.shape[1] <= DIMENSIONS:
        dense = np.asarray(Y.toarray(), dtype=np.float64)
        return dense if Y.shape[1] > 1 else dense.ravel()
    return np.asarray(Y @ rng.standard_normal((Y.shape[1], DIMENSIONS)) / np.sqrt(DIMENSIONS))


def _arrays(tree: Any, in_rows: Any) -> Tree:
    """Copies: views would keep each leaf's mean of every projection."""
    parts = (tree.feature, tree.threshold, tree.children_left, tree.children_right, tree.apply(in_rows))
    return Tree(*(np.array(part) for part in parts))


def _marginals(forest: Forest, X: Any) -> NDArray[Any]:
    return torch.sigmoid(forest(csr_batch(X) if sparse.issparse(X) else torch.as_tensor(X))).numpy()
