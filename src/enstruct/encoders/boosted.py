"""Boosted trees as tensors: one ensemble a label, as scikit-learn's HistGradientBoosting has grown them.

    logit_l(x) = b_l + sum_{t of label l} value of the leaf of tree t that x falls into

All trees' nodes are one table. A row goes left where x[feature] <= threshold; a leaf leads to itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from torch import Tensor, nn

from enstruct.encoders.forest import rounded_down
from enstruct.encoders.sparse_mlp import csr_batch

CELLS = 2**22
"""Rows times trees that are walked at once."""


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

    @classmethod
    def of_models(cls, models: Sequence[Any]) -> Self:
        """One fitted ``HistGradientBoostingClassifier`` a label; a number stands for a label of that log-odds whatever x."""
        nodes: list[NDArray[Any]] = []
        roots, labels, at, depth = [], [], 0, 0
        bias = np.zeros(len(models))
        for label, model in enumerate(models):
            if isinstance(model, float):
                bias[label] = model
                continue
            bias[label] = float(np.ravel(model._baseline_prediction)[0])
            for tree in (predictor for step in model._predictors for predictor in step):
                table = tree.nodes
                own, leaf = at + np.arange(len(table)), table["is_leaf"].astype(bool)
                parts = np.zeros((5, len(table)))
                parts[0], parts[1] = np.where(leaf, 0, table["feature_idx"]), np.where(leaf, 0.0, table["num_threshold"])
                parts[2], parts[3] = np.where(leaf, own, at + table["left"]), np.where(leaf, own, at + table["right"])
                parts[4] = np.where(leaf, table["value"], 0.0)
                nodes.append(parts)
                roots.append(at)
                labels.append(label)
                at += len(table)
                depth = max(depth, int(table["depth"].max()))
        feature, threshold, left, right, value = np.concatenate([np.zeros((5, 0)), *nodes], axis=1)
        tables = {
            "feature": feature.astype(np.int32),
            "threshold": rounded_down(threshold),
            "left": left.astype(np.int32),
            "right": right.astype(np.int32),
            "value": value.astype(np.float32),
            "root": np.array(roots, dtype=np.int32),
            "label": np.array(labels, dtype=np.int32),
            "bias": bias.astype(np.float32),
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
