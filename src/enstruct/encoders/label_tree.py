"""A tree whose leaves are labels, as a predictor: a row is asked about few of very many labels.

    p(y_l = 1 | x)  =  product over the nodes n on the way from the root to l of  p(n | x, parent of n)

where a node stands for "any of its labels is there", and p(n | x, its parent) = sigmoid(w_n . x + b_n) with sparse w_n. At each
level only the ``BEAM`` likeliest nodes of a row are gone into; labels below the others count as next to impossible. A row costs
BEAM nodes a level whatever the number of labels, beside its line of the table of answers (probabilistic label trees: Jasinska et
al. 2016; Prabhu et al. 2018).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import log_expit
from torch import Tensor, nn

BEAM = 16
LEAST = -14.0
"""Log-odds of labels that are not gone into, about one in a million, and of others at least."""


class Level(NamedTuple):
    """The nodes of one level, children of the same parent together; the last level's are labels.

    ``first`` (parents + 1,): where each parent's children begin; ``weights`` (nodes, features), ``bias`` (nodes,).
    """

    first: NDArray[np.int64]
    weights: sparse.csr_matrix
    bias: NDArray[np.float32]


class LabelTree(nn.Module):
    """x (rows, features), dense or CSR -> logits (rows, labels). Nothing of it can be trained further; it stays on the CPU.

    Tensors: "labels" (labels,), the label of each node of the last level; of level k "k_first" (parents + 1,), "k_indptr",
    "k_indices", "k_values" of its CSR weights and "k_bias".
    """

    labels: Tensor

    def __init__(self, tensors: dict[str, Tensor], n_features: int) -> None:
        super().__init__()
        for name, tensor in tensors.items():
            self.register_buffer(name, tensor)
        self.n_levels, self.n_features = sum(name.endswith("first") for name in tensors), n_features
        self.chosen: dict[str, Any] = {}
        self._blocks: list[list[sparse.csr_matrix]] | None = None

    @classmethod
    def of_levels(cls, levels: Sequence[Level], labels: NDArray[Any]) -> Self:
        """From the root's children down to the labels in this order."""
        tensors = {"labels": torch.from_numpy(labels.astype(np.int64))}
        for k, (first, weights, bias) in enumerate(levels):
            parts = (first, weights.indptr, weights.indices, weights.data, bias)
            for part, (name, kind) in zip(parts, _OF_A_LEVEL.items(), strict=True):
                tensors[f"{k}_{name}"] = torch.as_tensor(np.ascontiguousarray(part)).to(kind)
        return cls(tensors, levels[0].weights.shape[1])

    @classmethod
    def restored(cls, tensors: dict[str, Tensor], n_features: int, n_labels: int) -> Self:
        """From its own ``state_dict``. ValueError for other tables, or those that would lead outside of themselves."""
        n_levels = sum(name.endswith("_first") for name in tensors)
        kinds = {f"{k}_{name}": kind for k in range(n_levels) for name, kind in _OF_A_LEVEL.items()} | {"labels": torch.int64}
        within = n_levels > 0 and {name: (t.dtype, t.ndim) for name, t in tensors.items()} == {
            n: (k, 1) for n, k in kinds.items()
        }
        parents = 1
        for k in range(n_levels if within else 0):
            first, indptr, indices, values, bias = (tensors[f"{k}_{name}"].numpy() for name in _OF_A_LEVEL)
            within = within and _counts_up(first, parents, len(bias)) and _counts_up(indptr, len(bias), len(values))
            within = within and indices.shape == values.shape and bool(((indices >= 0) & (indices < n_features)).all())
            within = within and bool(np.isfinite(values).all() and np.isfinite(bias).all())
            parents = len(bias)
        if not within or parents != n_labels or not np.array_equal(np.sort(tensors["labels"].numpy()), np.arange(n_labels)):
            raise ValueError("its tree of labels leads outside of its tables")
        return cls(tensors, n_features)

    def _apply(self, fn: Any, recurse: bool = True) -> Self:
        """No other device and no other precision."""
        return self

    def level(self, k: int) -> Level:
        first, indptr, indices, values, bias = (getattr(self, f"{k}_{name}").numpy() for name in _OF_A_LEVEL)
        shape = len(bias), self.n_features
        return Level(first, sparse.csr_matrix((values, indices, indptr), shape), bias)

    @torch.no_grad()
    def forward(self, x: Tensor) -> Tensor:
        return torch.from_numpy(self.logits(_csr_rows(x.cpu()))).to(x.device)

    def logits(self, X: sparse.csr_matrix) -> NDArray[np.float32]:
        """(rows, labels)."""
        n = X.shape[0]
        log_p = sparse.csr_matrix((np.zeros(n, dtype=np.float32), np.zeros(n, dtype=np.int32), np.arange(n + 1)), (n, 1))
        for k, parents in enumerate(self._of_parents()):
            log_p = self._children(X, _beam(log_p) if k else log_p, k, parents)
        out = np.full((n, len(self.labels)), LEAST, dtype=np.float32)
        rows = np.repeat(np.arange(n), np.diff(log_p.indptr))
        p = log_p.data.astype(np.float64)
        odds = p - np.log(-np.expm1(np.minimum(p, -1e-9)))  # log p - log(1 - p)
        out[rows, self.labels.numpy()[log_p.indices]] = np.maximum(odds, LEAST)
        return out

    def _children(self, X: Any, log_p: sparse.csr_matrix, k: int, parents: list[sparse.csr_matrix]) -> sparse.csr_matrix:
        """(rows, nodes of level k) log p of the children of the nodes that ``log_p`` holds, others not stored."""
        first, bias = (getattr(self, f"{k}_{name}").numpy() for name in ("first", "bias"))
        of_parent, rows, nodes, values = log_p.tocsc(), [], [], []
        for parent in np.flatnonzero(np.diff(of_parent.indptr)):
            own = slice(of_parent.indptr[parent], of_parent.indptr[parent + 1])
            some, here = of_parent.indices[own], np.arange(first[parent], first[parent + 1])
            z = np.nan_to_num(np.asarray((X[some] @ parents[parent]).todense()) + bias[here])
            values.append((of_parent.data[own, None] + log_expit(z)).ravel())
            rows.append(np.repeat(some, len(here)))
            nodes.append(np.tile(here, len(some)))
        if not rows:
            return sparse.csr_matrix((X.shape[0], len(bias)), dtype=np.float32)
        table = (np.concatenate(values).astype(np.float32), (np.concatenate(rows), np.concatenate(nodes)))
        return sparse.coo_matrix(table, shape=(X.shape[0], len(bias))).tocsr()

    def _of_parents(self) -> list[list[sparse.csr_matrix]]:
        """At each level, of each parent the weights (features, children), which rows multiply: made once."""
        if self._blocks is None:
            levels = map(self.level, range(self.n_levels))
            self._blocks = [
                [level.weights[a:b].T.tocsr() for a, b in zip(level.first[:-1], level.first[1:], strict=True)] for level in levels
            ]
        return self._blocks

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_blocks": None}  # what can be made again is not sent along


_OF_A_LEVEL = {
    "first": torch.int64,
    "indptr": torch.int64,
    "indices": torch.int32,
    "values": torch.float32,
    "bias": torch.float32,
}


def _beam(log_p: sparse.csr_matrix) -> sparse.csr_matrix:
    """The BEAM largest entries of each row."""
    counts = np.diff(log_p.indptr)
    rows = np.repeat(np.arange(len(counts)), counts)
    order = np.lexsort((-log_p.data, rows))
    place = np.arange(len(rows)) - np.repeat(log_p.indptr[:-1], counts)
    kept = np.sort(order[place < BEAM])
    return sparse.csr_matrix((log_p.data[kept], (rows[kept], log_p.indices[kept])), shape=log_p.shape)


def _csr_rows(x: Tensor) -> sparse.csr_matrix:
    if x.layout == torch.strided:
        return sparse.csr_matrix(x.numpy())
    parts = (x.values().numpy(), x.col_indices().numpy(), x.crow_indices().numpy())
    return sparse.csr_matrix(parts, shape=tuple(x.shape))


def _counts_up(first: NDArray[Any], parents: int, last: int) -> bool:
    return first.shape == (parents + 1,) and first[0] == 0 and first[-1] == last and bool((first[1:] >= first[:-1]).all())
