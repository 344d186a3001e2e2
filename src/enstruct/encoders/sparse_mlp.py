"""The linear layer on CSR rows: x W + b without densifying x.

Two products give the same numbers: an embedding bag (fastest below about 1e5 features, but torch
has no double backward for it) and torch's CSR product (which has one; implicit and unrolled
training need it). ``SparseLinear(double_backward=True)`` takes the second.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

with warnings.catch_warnings():  # torch announces once a process that its CSR tensors are in beta
    warnings.simplefilter("ignore")
    torch.sparse_csr_tensor(torch.tensor([0, 0]), torch.tensor([], dtype=torch.int64), torch.tensor([]), (1, 1))


def csr_batch(rows: Any, dtype: torch.dtype = torch.float32, device: torch.device | str = "cpu") -> Tensor:
    """A scipy CSR matrix (batch, features) as a torch CSR tensor."""
    indptr = torch.from_numpy(rows.indptr.astype(np.int64, copy=False))
    indices = torch.from_numpy(rows.indices.astype(np.int64, copy=False))
    values = torch.from_numpy(rows.data).to(dtype)
    return torch.sparse_csr_tensor(indptr, indices, values, rows.shape, check_invariants=False).to(device)


class SparseLinear(nn.Module):
    """``x @ weight + bias`` for a torch CSR batch; weight (inputs, outputs), so that its rows are gathered."""

    def __init__(self, in_features: int, out_features: int, double_backward: bool = False) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(in_features, out_features))
        self.bias = nn.Parameter(torch.zeros(out_features))
        self.double_backward = double_backward
        # the weight is stored transposed, so torch's fan_out is the number of inputs
        nn.init.kaiming_uniform_(self.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, x: Tensor) -> Tensor:
        if x.layout != torch.sparse_csr:
            return x @ self.weight + self.bias
        if self.double_backward:
            return torch.sparse.mm(x, self.weight) + self.bias
        summed = F.embedding_bag(
            x.col_indices(),
            self.weight,
            x.crow_indices(),
            mode="sum",
            per_sample_weights=x.values().to(self.weight.dtype),
            include_last_offset=True,
        )
        return summed + self.bias  # (batch, out_features)
