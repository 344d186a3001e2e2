"""Minibatches: the one place where arrays become tensors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from torch import Tensor

from enstruct.data.rows import Rows
from enstruct.encoders.sparse_mlp import csr_batch


@dataclass(frozen=True)
class Batch:
    """``x`` (batch, features) dense or torch CSR, ``y`` (batch, labels) 0/1, optional mask and row weights."""

    x: Tensor
    y: Tensor
    mask: Tensor | None = None
    weight: Tensor | None = None


def to_features(X: object, device: torch.device | str = "cpu", dtype: torch.dtype = torch.float32) -> Tensor:
    """Dense rows or scipy CSR rows as a tensor the encoders take."""
    if sparse.issparse(X):
        return csr_batch(X, dtype, device)
    return torch.as_tensor(np.asarray(X), dtype=dtype).to(device)


def to_batch(rows: Rows, device: torch.device | str = "cpu", dtype: torch.dtype = torch.float32) -> Batch:
    weight = None if rows.weight is None else torch.as_tensor(rows.weight, dtype=dtype).to(device)
    y = torch.from_numpy(rows.Y.toarray()).to(device=device, dtype=dtype)
    return Batch(to_features(rows.X, device, dtype), y, None, weight)


def batches(rows: Rows, size: int, order: NDArray[np.int64] | None = None, device: torch.device | str = "cpu") -> Iterator[Batch]:
    """All rows once, in ``order`` (given order if None), ``size`` at a time; the last batch may be short."""
    for start in range(0, len(rows), size):
        index = np.arange(start, min(start + size, len(rows))) if order is None else order[start : start + size]
        yield to_batch(rows.take(index), device)
