"""Boosted trees as tensors: one ensemble a label, whichever package has grown them (:mod:`enstruct.baselines.boosting`).

    logit_l(x) = b_l + sum_{t of label l} value of the leaf of tree t that x falls into

All trees' nodes are one table. A row goes left where x[feature] <= threshold; a leaf leads to itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from torch import Tensor, nn

from enstruct.encoders.forest import rounded_down
from enstruct.encoders.sparse_mlp import csr_batch

CELLS = 2**22
"""Rows times trees that are walked at once."""


class Ensemble(NamedTuple):
    """Of one label, its log-odds ``bias`` plus what each of the ``trees`` says.

    A tree is (5, nodes), the root first: feature, threshold, left, right, value; a leaf leads to itself.
    """

    bias: float
    trees: Sequence[NDArray[Any]] = ()


class BoostedTrees(nn.Module):
    """x (rows, features), dense or CSR -> logits (rows, labels). Nothing of it can be trained further; it stays on the CPU.

    Tensors: "feature", "threshold", "left", "right", "value" (nodes,); "root", "label" (trees,), trees of a label together;
    "bias" (labels,); "depth" (), of the deepest tree.
    """

    feature: Tensor
    threshold: Tensor
    left: Tensor
    right: Tensor
    value: Tensor
    root: Tensor
    label: Tensor
    bias: Tensor
    depth: Tensor

    def __init__(self, tensors: dict[str, Tensor]) -> None:
        super().__init__()
        for name, tensor in tensors.items():
            self.register_buffer(name, tensor)
        self.chosen: dict[str, Any] = {}

    @classmethod
    def of_ensembles(cls, ensembles: Sequence[Ensemble]) -> Self:
        """One a label."""
        trees = [tree for ensemble in ensembles for tree in ensemble.trees]
        sizes = np.array([tree.shape[1] for tree in trees], dtype=np.int32)
        root = np.cumsum(sizes, dtype=np.int32) - sizes
        feature, threshold, left, right, value = np.concatenate([np.zeros((5, 0)), *trees], axis=1)
        left, right = (children.astype(np.int32) + np.repeat(root, sizes) for children in (left, right))
        depth, level = 0, root
        while len(inner := level[left[level] != level]):
            depth, level = depth + 1, np.concatenate([left[inner], right[inner]])
        tables = {
            "feature": feature.astype(np.int32),
            "threshold": rounded_down(threshold),
            "left": left,
            "right": right,
            "value": value.astype(np.float32),
            "root": root,
            "label": np.repeat(np.arange(len(ensembles), dtype=np.int32), [len(ensemble.trees) for ensemble in ensembles]),
            "bias": np.array([ensemble.bias for ensemble in ensembles], dtype=np.float32),
            "depth": np.array(depth, dtype=np.int32),
        }
        return cls({name: torch.from_numpy(table) for name, table in tables.items()})

    @classmethod
    def restored(cls, tensors: dict[str, Tensor], n_features: int, n_labels: int) -> Self:
        """Of a saved model. ValueError for tables that would lead outside of themselves."""
        arrays = {name: tensors[name].numpy() for name in BoostedTrees.__annotations__}
        n = arrays["feature"].size
        within = (
            all(arrays[name].shape == (n,) for name in ("feature", "threshold", "left", "right", "value"))
            and all(np.isfinite(arrays[name]).all() for name in ("threshold", "value", "bias"))
            and _within(arrays["feature"], n_features)
            and all(_within(arrays[name], n) for name in ("left", "right", "root"))
            and _within(arrays["label"], n_labels)
            and arrays["label"].shape == arrays["root"].shape
            and bool((np.diff(arrays["label"]) >= 0).all())
            and arrays["bias"].shape == (n_labels,)
            and np.shape(arrays["depth"]) == ()
            and 0 <= int(arrays["depth"]) <= n
        )
        if not within:
            raise ValueError("its boosted trees lead outside of their tables")
        return cls(tensors)

    def _apply(self, fn: Any, recurse: bool = True) -> Self:
        """No other device and no other precision."""
        return self

    @torch.no_grad()
    def forward(self, x: Tensor) -> Tensor:
        X = sparse_rows(x.cpu())
        out = np.tile(self.bias.numpy(), (len(X), 1))
        root, label = self.root.numpy(), self.label.numpy()
        if not len(root):
            return torch.from_numpy(out).to(x.device)
        first = np.flatnonzero(np.diff(label, prepend=-1))
        for some in np.array_split(np.arange(len(X)), max(1, -(-len(X) * len(root) // CELLS))):
            out[np.ix_(some, label[first])] += np.add.reduceat(self._leaf_values(X[some]), first, axis=1)
        return torch.from_numpy(out).to(x.device)

    def _leaf_values(self, X: NDArray[np.float32]) -> NDArray[np.float32]:
        """(rows, trees)."""
        feature, threshold, left, right = (t.numpy() for t in (self.feature, self.threshold, self.left, self.right))
        node = np.tile(self.root.numpy(), (len(X), 1))
        rows = np.arange(len(X))[:, None]
        for _ in range(int(self.depth)):
            node = np.where(X[rows, feature[node]] <= threshold[node], left[node], right[node])
        return np.asarray(self.value.numpy()[node])


def sparse_rows(x: Tensor) -> NDArray[np.float32]:
    """Dense rows of what the networks take, which may be CSR."""
    return np.asarray(x.to_dense().numpy() if x.layout != torch.strided else x.numpy(), dtype=np.float32)


def as_tensor(X: Any) -> Tensor:
    return csr_batch(X) if sparse.issparse(X) else torch.as_tensor(np.asarray(X, dtype=np.float32))


def _within(numbers: NDArray[Any], most: int) -> bool:
    return numbers.dtype.kind == "i" and numbers.ndim == 1 and bool(((numbers >= 0) & (numbers < max(1, most))).all())
