"""The linear layer on CSR rows: x W + b without densifying x.

The product is an embedding bag, the fastest below about 1e5 features. torch has no second derivative of it, which implicit and
unrolled training need; inside ``twice_differentiable(module)`` the layers take a pair of products instead that are each other's
derivative, x W and x' G, to any order (torch's own sparse product has one, several times slower).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from enstruct.devices import moved

with warnings.catch_warnings():  # torch announces once a process that its CSR tensors are in beta
    warnings.simplefilter("ignore")
    torch.sparse_csr_tensor(torch.tensor([0, 0]), torch.tensor([], dtype=torch.int64), torch.tensor([]), (1, 1))


def csr_batch(rows: Any, dtype: torch.dtype = torch.float32, device: torch.device | str = "cpu") -> Tensor:
    """A scipy CSR matrix (batch, features) as a torch CSR tensor."""
    indptr = moved(torch.from_numpy(rows.indptr.astype(np.int64, copy=False)), device)
    indices = moved(torch.from_numpy(rows.indices.astype(np.int64, copy=False)), device)
    values = moved(torch.from_numpy(rows.data), device, dtype)
    return torch.sparse_csr_tensor(indptr, indices, values, rows.shape, check_invariants=False)


class _Gather(torch.autograd.Function):
    """x W for a CSR batch x; W (inputs, outputs)."""

    @staticmethod
    def forward(ctx: Any, weight: Tensor, x: Tensor) -> Tensor:
        ctx.x = x
        return _bag(x, weight)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return cast(Tensor, _Scatter.apply(gradient, ctx.x)), None


class _Scatter(torch.autograd.Function):
    """x' G for a CSR batch x; G (batch, outputs)."""

    @staticmethod
    def forward(ctx: Any, gradient: Tensor, x: Tensor) -> Tensor:
        ctx.x = x
        return torch.sparse.mm(x.to(gradient.dtype).t(), gradient)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return cast(Tensor, _Gather.apply(gradient, ctx.x)), None


def _bag(x: Tensor, weight: Tensor) -> Tensor:
    """(batch, outputs)."""
    indices, offsets, values = x.col_indices(), x.crow_indices(), x.values().to(weight.dtype)
    return F.embedding_bag(indices, weight, offsets, mode="sum", per_sample_weights=values, include_last_offset=True)


@contextmanager
def twice_differentiable(module: nn.Module) -> Iterator[None]:
    """Inside, the module's sparse layers can be differentiated any number of times."""
    layers = [layer for layer in module.modules() if isinstance(layer, SparseLinear)]
    before = [layer.double_backward for layer in layers]
    for layer in layers:
        layer.double_backward = True
    try:
        yield
    finally:
        for layer, flag in zip(layers, before, strict=True):
            layer.double_backward = flag


class SparseLinear(nn.Module):
    """``x @ weight + bias`` for a torch CSR batch; weight (inputs, outputs), so that its rows are gathered."""

    def __init__(self, in_features: int, out_features: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(in_features, out_features))
        self.bias = nn.Parameter(torch.zeros(out_features))
        self.double_backward = False
        # the weight is stored transposed, so torch's fan_out is the number of inputs
        nn.init.kaiming_uniform_(self.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, x: Tensor) -> Tensor:
        if x.layout != torch.sparse_csr:
            return x @ self.weight + self.bias
        product = cast(Tensor, _Gather.apply(self.weight, x)) if self.double_backward else _bag(x, self.weight)
        return product + self.bias  # (batch, out_features)
