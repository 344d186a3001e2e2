"""A forest of decision trees as a predictor: each row's marginals are a weighted mean of the training rows' label sets.

    p(y_l = 1 | x) = sum_i w_i(x) y_il,    w_i(x) = mean over the trees of  v_i [i shares x's leaf] / sum of v in that leaf

``v`` are row weights. This is the mean of the leaves' means (Breiman 2001), written as a neighbourhood (Lin & Jeon 2006): a tree
holds one number a training row, whatever the number of labels, where means kept leaf by leaf are one for each leaf and label.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from torch import Tensor, nn

CERTAIN = 1e-6
"""Marginals stay so far from 0 and 1: logits are finite."""
MOST_CELLS = 2**25
"""Of the table of weights (rows, training rows) at a time."""


class Tree(NamedTuple):
    """A number a node, the root first: ``x[feature] <= threshold`` goes ``left``, which is -1 at leaves, as is ``right``.

    ``leaf_of`` (training rows,): the leaf that each falls into.
    """

    feature: NDArray[Any]
    threshold: NDArray[Any]
    left: NDArray[Any]
    right: NDArray[Any]
    leaf_of: NDArray[Any]


class Forest(nn.Module):
    """logits (rows, labels) of the p above, plus ``shift``, on dense or CSR rows. All is buffers: training leaves it as it is.

    Nodes are numbered through all trees; a leaf is its own child. ``members`` are the training rows in the order of their
    leaves, tree after tree: a node has ``size`` of them from ``first`` on, whose weights sum to ``mass``. ``labels_*`` are the
    transposed label sets (labels, training rows) in CSR form, with row weights as values.
    """

    feature: Tensor
    threshold: Tensor
    left: Tensor
    right: Tensor
    roots: Tensor
    members: Tensor
    first: Tensor
    size: Tensor
    mass: Tensor
    labels_rows: Tensor
    labels_columns: Tensor
    labels_values: Tensor
    shift: Tensor

    def __init__(self, tensors: dict[str, Tensor]) -> None:
        super().__init__()
        for name in Forest.__annotations__:
            self.register_buffer(name, tensors[name])

    @classmethod
    def restored(cls, tensors: dict[str, Tensor]) -> Self:
        """From its own ``state_dict``."""
        return cls(tensors)

    @classmethod
    def of_trees(cls, trees: Sequence[Tree], Y: Any, weight: NDArray[Any] | None = None, shift: Any = 0.0) -> Self:
        """``Y`` (training rows, labels) of 0/1, ``weight`` (training rows,), ``shift`` one number or one a label."""
        v = np.ones(Y.shape[0]) if weight is None else np.asarray(weight, dtype=np.float64)
        labels = sparse.csr_matrix(sparse.csr_matrix(Y, dtype=np.float64).multiply(v[:, None]).T)
        roots = np.cumsum([0, *(len(tree.feature) for tree in trees)])
        begins, n_nodes = roots[:-1, None], roots[-1]
        leaf_of = np.stack([tree.leaf_of for tree in trees]) + begins
        size = np.bincount(leaf_of.ravel(), minlength=n_nodes)
        own, parts = np.arange(n_nodes), list(zip(roots, trees, strict=False))
        arrays = {
            "feature": np.maximum(0, np.concatenate([tree.feature for tree in trees])).astype(np.int32),
            "threshold": rounded_down(np.concatenate([tree.threshold for tree in trees])),
            "left": np.concatenate([np.where(tree.left < 0, -1, tree.left + root) for root, tree in parts]),
            "right": np.concatenate([np.where(tree.right < 0, -1, tree.right + root) for root, tree in parts]),
            "roots": roots[:-1].astype(np.int32),
            "members": np.argsort(leaf_of, axis=1, kind="stable").ravel().astype(np.int32),
            "first": np.cumsum(size) - size,
            "size": size.astype(np.int32),
            "mass": np.bincount(leaf_of.ravel(), np.tile(v, len(trees)), n_nodes).astype(np.float32),
            "labels_rows": labels.indptr.astype(np.int64),
            "labels_columns": labels.indices.astype(np.int64),
            "labels_values": labels.data.astype(np.float32),
            "shift": np.broadcast_to(np.asarray(shift, dtype=np.float32), labels.shape[:1]).copy(),
        }
        for side in ("left", "right"):
            arrays[side] = np.where(arrays[side] < 0, own, arrays[side]).astype(np.int32)
        return cls({name: torch.from_numpy(array) for name, array in arrays.items()})

    def forward(self, x: Tensor) -> Tensor:
        n_training = len(self.members) // len(self.roots)
        parts = []
        for some in torch.split(x if x.layout == torch.strided else x.to_dense(), max(1, MOST_CELLS // n_training)):
            p = (self._labels(n_training) @ self._weights(some, n_training).T).T
            parts.append(torch.logit(p, CERTAIN) + self.shift)
        return torch.cat(parts)

    def _leaves(self, x: Tensor) -> Tensor:
        """(rows, trees) the leaf of each row in each tree."""
        x = x.float()  # thresholds were found on such numbers
        node = self.roots.expand(len(x), -1)
        while True:
            below = x.gather(1, self.feature[node].long()) <= self.threshold[node]
            child = torch.where(below, self.left[node], self.right[node])
            if torch.equal(child, node):
                return node.long()
            node = child

    def _weights(self, x: Tensor, n_training: int) -> Tensor:
        """(rows, training rows) w without v, which the labels' values hold."""
        leaf = self._leaves(x).ravel()
        size = self.size[leaf].long()
        begin = self.first[leaf] - (size.cumsum(0) - size)
        place = torch.arange(int(size.sum()), device=x.device) + begin.repeat_interleave(size)
        row = torch.arange(len(x), device=x.device).repeat_interleave(len(self.roots)).repeat_interleave(size)
        share = (1 / (len(self.roots) * self.mass.clamp_min(CERTAIN)[leaf])).repeat_interleave(size)
        weights = torch.zeros(len(x) * n_training, dtype=self.mass.dtype, device=x.device)
        return weights.index_add_(0, row * n_training + self.members[place], share).view(len(x), n_training)

    def _labels(self, n_training: int) -> Tensor:
        parts = (self.labels_rows, self.labels_columns, self.labels_values)
        return torch.sparse_csr_tensor(*parts, (len(self.shift), n_training))


def rounded_down(threshold: NDArray[Any]) -> NDArray[np.float32]:
    """The largest 32-bit number not above each: 32-bit x compare with it as with the threshold itself."""
    near = threshold.astype(np.float32)
    return np.where(near > threshold, np.nextafter(near, np.float32(-np.inf)), near)
