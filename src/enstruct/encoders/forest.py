"""A forest of decision trees as a predictor: each row's marginals are a weighted mean of the training rows' label sets.

    p(y_l = 1 | x) = sum_i w_i(x) y_il,    w_i(x) = mean over the trees of  v_i [i shares x's leaf] / sum of v in that leaf

``v`` are row weights. This is the mean of the leaves' means (Breiman 2001), written as a neighbourhood (Lin & Jeon 2006): a tree
holds one number a training row, whatever the number of labels, where means kept leaf by leaf are one for each leaf and label.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from torch import Tensor, nn

CERTAIN = 1e-6
"""Marginals stay so far from 0 and 1: logits are finite."""
MOST_CELLS = 2**22
"""Of dense features, and of weights w that are not 0, at a time."""


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
    """logits (rows, labels) of the p above, plus ``shift``, on dense or CSR rows.

    All is buffers, which training leaves as they are; they stay on the CPU, where trees are walked, and in their own precision.
    Nodes are numbered through all trees; a leaf is its own child; ``feature`` counts among ``columns``, the features that any
    tree reads. ``members`` are the training rows in the order of their leaves, tree after tree: a node has ``size`` of them from
    ``first`` on, whose weights sum to ``mass``. ``labels_*``: the label sets (training rows, labels) in CSR form, with row
    weights as values. ``chosen``: settings that were chosen when it was grown, by name.
    """

    columns: Tensor
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
        self.chosen: dict[str, Any] = {}

    @classmethod
    def restored(cls, tensors: dict[str, Tensor], n_features: int, n_labels: int) -> Self:
        """From its own ``state_dict``; ValueError if that is of other sizes, or no forest in which every walk ends."""
        _check({name: tensors[name].numpy() for name in Forest.__annotations__}, n_features, n_labels)
        return cls(tensors)

    @classmethod
    def of_trees(cls, trees: Sequence[Tree], Y: Any, weight: NDArray[Any] | None = None, shift: Any = 0.0) -> Self:
        """``Y`` (training rows, labels) of 0/1, ``weight`` (training rows,), ``shift`` one number or one a label."""
        v = np.ones(Y.shape[0]) if weight is None else np.asarray(weight, dtype=np.float64)
        labels = sparse.csr_matrix(sparse.csr_matrix(Y, dtype=np.float64).multiply(v[:, None]))
        roots = np.cumsum([0, *(len(tree.feature) for tree in trees)])
        n_nodes, parts = roots[-1], list(zip(roots, trees, strict=False))
        leaf_of = np.stack([root + tree.leaf_of for root, tree in parts])
        size = np.bincount(leaf_of.ravel(), minlength=n_nodes)
        columns, feature = np.unique(np.concatenate([np.maximum(0, tree.feature) for tree in trees]), return_inverse=True)
        arrays = {
            "columns": columns.astype(np.int64),
            "feature": feature.astype(np.int32),
            "threshold": rounded_down(np.concatenate([tree.threshold for tree in trees])),
            "left": np.concatenate([_or_itself(tree.left, root) for root, tree in parts]),
            "right": np.concatenate([_or_itself(tree.right, root) for root, tree in parts]),
            "roots": roots[:-1].astype(np.int32),
            "members": np.argsort(leaf_of, axis=1, kind="stable").ravel().astype(np.int32),
            "first": np.cumsum(size) - size,
            "size": size.astype(np.int32),
            "mass": np.bincount(leaf_of.ravel(), np.tile(v, len(trees)), n_nodes),
            "labels_rows": labels.indptr.astype(np.int64),
            "labels_columns": labels.indices.astype(np.int32),
            "labels_values": labels.data.astype(np.float32),
            "shift": np.broadcast_to(np.asarray(shift, dtype=np.float32), labels.shape[1:]).copy(),
        }
        return cls({name: torch.from_numpy(array) for name, array in arrays.items()})

    def _apply(self, fn: Any, recurse: bool = True) -> Self:
        """No other device and no other precision."""
        return self

    def forward(self, x: Tensor) -> Tensor:
        rows = _as_arrays(x.cpu())
        step = max(1, MOST_CELLS // len(self.columns))
        parts = [p for start in range(0, rows.shape[0], step) for p in self._marginals(rows[start : start + step])]
        p = np.concatenate([np.empty((0, len(self.shift))), *parts]).clip(CERTAIN, 1 - CERTAIN)
        return torch.from_numpy(np.log(p) - np.log1p(-p) + self.shift.numpy()).to(x.device, x.dtype)

    def _marginals(self, rows: Any) -> Iterator[NDArray[np.float64]]:
        """(rows, labels) of some rows after others."""
        used = rows[:, self.columns.numpy()]
        leaf = self._leaves(used.toarray() if sparse.issparse(used) else used)
        labels = (array.numpy() for array in (self.labels_values, self.labels_columns, self.labels_rows))
        n_training = len(self.labels_rows) - 1
        Y = sparse.csr_matrix(tuple(labels), shape=(n_training, len(self.shift)))
        block = np.cumsum(self.size.numpy()[leaf].sum(1, dtype=np.int64)) // MOST_CELLS  # of so many weights each
        for leaf_of_rows in np.split(leaf, np.flatnonzero(np.diff(block)) + 1):
            yield np.asarray((self._weights(leaf_of_rows, n_training) @ Y).toarray())

    def _leaves(self, X: NDArray[Any]) -> NDArray[Any]:
        """(rows, trees) the leaf of each row in each tree."""
        X = X.astype(np.float32)  # thresholds were found on such numbers
        feature, threshold, left, right = (a.numpy() for a in (self.feature, self.threshold, self.left, self.right))
        row, node = np.arange(len(X))[:, None], np.broadcast_to(self.roots.numpy(), (len(X), len(self.roots)))
        while True:
            child = np.where(X[row, feature[node]] <= threshold[node], left[node], right[node])
            if np.array_equal(child, node):
                return node
            node = child

    def _weights(self, leaf: NDArray[Any], n_training: int) -> sparse.csr_matrix:
        """(rows, training rows) w without v, which the labels' values hold; a training row may stand several times in a row."""
        leaf, n_rows = leaf.ravel(), len(leaf)
        size, mass = self.size.numpy()[leaf].astype(np.int64), self.mass.numpy()[leaf]
        share = np.divide(1 / len(self.roots), mass, out=np.zeros(mass.shape), where=mass > 0)
        ends = np.cumsum(size)
        place = np.arange(ends[-1] if len(ends) else 0) + np.repeat(self.first.numpy()[leaf] - (ends - size), size)
        rows = np.concatenate([[0], ends[len(self.roots) - 1 :: len(self.roots)]])
        return sparse.csr_matrix((np.repeat(share, size), self.members.numpy()[place], rows), shape=(n_rows, n_training))


def _or_itself(child: NDArray[Any], root: int) -> NDArray[np.int32]:
    """The child's number among all nodes, of a leaf its own."""
    return (root + np.where(child < 0, np.arange(len(child)), child)).astype(np.int32)


def _as_arrays(x: Tensor) -> Any:
    """(rows, features) as a numpy array or a scipy CSR matrix."""
    if x.layout == torch.strided:
        return x.numpy()
    parts = (x.values().numpy(), x.col_indices().numpy(), x.crow_indices().numpy())
    return sparse.csr_matrix(parts, shape=tuple(x.shape))


def rounded_down(threshold: NDArray[Any]) -> NDArray[np.float32]:
    """The largest 32-bit number not above each: 32-bit x compare with it as with the threshold itself."""
    near = threshold.astype(np.float32)
    return np.where(near > threshold, np.nextafter(near, np.float32(-np.inf)), near)


def _check(arrays: dict[str, NDArray[Any]], n_features: int, n_labels: int) -> None:
    """ValueError where one number of a forest would lead outside of it, or a child not further down."""
    n_nodes, n_rows, node = len(arrays["feature"]), len(arrays["labels_rows"]) - 1, np.arange(len(arrays["feature"]))
    below = {
        "columns": n_features,
        "feature": len(arrays["columns"]),
        "left": n_nodes,
        "right": n_nodes,
        "roots": n_nodes,
        "members": n_rows,
        "labels_columns": n_labels,
    }
    for name, most in below.items():
        if not _within(arrays[name], 0, most - 1):
            raise ValueError(f"the trees' {name} do not lie between 0 and {most - 1}")
    if not len(arrays["roots"]):
        raise ValueError("there are no trees")
    if not all(arrays[name].shape == (n_nodes,) for name in ("threshold", "left", "right", "first", "size", "mass")):
        raise ValueError("the trees' nodes differ in number")
    left, right = arrays["left"], arrays["right"]
    if not (((left > node) & (right > node)) | ((left == node) & (right == node))).all():
        raise ValueError("a node's children are not further down than itself")
    first, size, rows = arrays["first"], arrays["size"], arrays["labels_rows"]
    ends = first + size.astype(np.int64)
    if not (_within(size, 0, n_rows) and _within(first, 0, len(arrays["members"])) and _within(ends, 0, len(arrays["members"]))):
        raise ValueError("a leaf's rows are none of the training rows")
    whole = rows[0] == 0 and rows[-1] == len(arrays["labels_columns"]) == len(arrays["labels_values"])
    if not whole or (np.diff(rows) < 0).any() or arrays["shift"].shape != (n_labels,):
        raise ValueError(f"the trees' label sets are not of {n_labels} labels")


def _within(numbers: NDArray[Any], least: int, most: int) -> bool:
    return numbers.dtype.kind in "iu" and numbers.ndim == 1 and bool(((numbers >= least) & (numbers <= most)).all())
