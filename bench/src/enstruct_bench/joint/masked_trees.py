"""Extremely randomised trees on (x, told labels): every row is seen with several random masks.

A told label is a column of 1 or -1, an unknown one 0; a row's share told is uniform in [0, 1]. Trees are those of
:mod:`enstruct.baselines.extra_trees`, but that leaves are larger, as each row comes several times, and that their size is chosen
by the log-loss of asked cells on held-out rows. Sparse features that are very many come as their ``AXES`` largest axes (latent
semantic analysis): told labels would drown among them. Of many labels there are fewer trees and leaves are the middle ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from sklearn.decomposition import TruncatedSVD
from sklearn.ensemble import ExtraTreesRegressor

from enstruct.baselines.extra_trees import projected
from enstruct.data.rows import as_indicator
from enstruct.encoders.forest import Forest, Tree
from enstruct_bench.joint.in_order import log_probability_in_order
from enstruct_bench.joint.sides import LogProbability, Marginal, TwoFits
from enstruct_bench.joint.table import Array, Table, is_wide
from enstruct_bench.joint.told import asked_loss, random_told

MASKS, CELLS = 5, 2**27
"""Masks a row, as far as the table has no more cells than this."""
LEAVES, TREES, TREES_TO_CHOOSE, TREES_A_PROJECTION = (5, 10, 20), 150, 25, 5
MANY_LABELS, TREES_OF_MANY = 200, 50
AXES = 300
SHARE_A_SPLIT = 0.3
BLOCK = 2**24


def with_told(X: Any, known: Array) -> NDArray[np.float32]:
    """(rows, features + labels)."""
    dense = np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float32)
    return np.hstack([dense, np.nan_to_num(2 * known - 1).astype(np.float32)])


@dataclass(frozen=True)
class MaskedTrees(Marginal):
    forest: Forest
    axes: TruncatedSVD | None = None

    def marginals(self, X: Any, known: Array) -> NDArray[np.float64]:
        size = max(1, BLOCK // (X.shape[1] + known.shape[1]))
        blocks = [slice(first, first + size) for first in range(0, len(known), size)]
        with torch.no_grad():
            logits = [self.forest(torch.from_numpy(with_told(along(self.axes, X[rows]), known[rows]))) for rows in blocks]
        return np.asarray(torch.sigmoid(torch.cat(logits).double()).numpy())

    def log_probability(self, X: Any, Y: Array) -> LogProbability:
        return log_probability_in_order(self, X, Y)


def fit_masked_trees(table: Table, seed: int) -> TwoFits:
    train, held = table.training, table.held
    leaves, trees = (LEAVES, TREES) if table.n_labels <= MANY_LABELS else (LEAVES[1:2], TREES_OF_MANY)
    known = random_told(table.Y[held], np.random.default_rng([seed, 1]))

    def loss(leaf: int) -> float:
        model = grow(table.X[train], table.Y[train], leaf, TREES_TO_CHOOSE, seed)
        return asked_loss(model.marginals(table.X[held], known), table.Y[held], known)

    leaf = min(leaves, key=loss) if len(leaves) > 1 else leaves[0]
    judge = grow(table.X[train], table.Y[train], leaf, trees, seed)
    return TwoFits(judge, grow(table.X, table.Y, leaf, trees, seed), table.X[held])


def along(axes: TruncatedSVD | None, X: Any) -> Any:
    """(rows, axes), or X itself."""
    return X if axes is None else axes.transform(X).astype(np.float32)


def grow(X: Any, Y: NDArray[np.float32], leaf: int, trees: int, seed: int) -> MaskedTrees:
    """A forest on rows with masks; ``leaf``: rows that a leaf has at least, masked copies counted."""
    axes = TruncatedSVD(min(AXES, len(Y) - 1), random_state=seed).fit(X) if is_wide(X) else None
    X = along(axes, X)
    rng = np.random.default_rng(seed)
    masks = int(np.clip(CELLS // (len(Y) * (X.shape[1] + Y.shape[1])), 1, MASKS))
    inputs = np.concatenate([with_told(X, random_told(Y, rng)) for _ in range(masks)])
    targets = as_indicator(np.tile(Y, (masks, 1)))
    arrays: list[Tree] = []
    while len(arrays) < trees:
        grown = ExtraTreesRegressor(
            TREES_A_PROJECTION,
            min_samples_leaf=leaf,
            max_features=SHARE_A_SPLIT,
            random_state=int(rng.integers(2**31)),
        ).fit(inputs, projected(targets, rng))
        for tree in grown.estimators_:
            parts = tree.tree_
            kept = (parts.feature, parts.threshold, parts.children_left, parts.children_right, parts.apply(inputs))
            arrays.append(Tree(*(np.array(part) for part in kept)))
    return MaskedTrees(Forest.of_trees(arrays, targets, None, 0.0), axes)
