"""Many binary label vectors, stored as their active labels only, and the two linear maps energies need.

Sampled label sets are sparse: a row of bibtex has 2.4 of 159 labels. Everything an energy does with
y is linear before its non-linearity, so two operations suffice, each written for dense relaxed y
and for sparse samples:

    inner(y, w)[b, s]      = sum_l  y[b, s, l] * w[b, l]
    project(y, C)[b, s, :] = sum_l  y[b, s, l] * C[l, :]

Their cost on :class:`LabelVectors` grows with the number of active labels, not with L.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
import torch.nn.functional as F
from torch import Tensor


@dataclass(frozen=True)
class LabelVectors:
    """``batch * samples`` vectors of {0,1}^L in compressed-row form.

    ``indices`` (nnz,) int64 are the active labels, vector after vector; ``offsets``
    (batch*samples + 1,) say where each vector begins. Vector (b, s) is number ``b*samples + s``.
    """

    indices: Tensor
    offsets: Tensor
    batch: int
    samples: int
    n_labels: int

    @property
    def shape(self) -> tuple[int, int, int]:
        return (self.batch, self.samples, self.n_labels)

    @cached_property
    def vector(self) -> Tensor:
        """(nnz,) the number of the vector each active label belongs to."""
        return torch.repeat_interleave(self.sizes.reshape(-1))

    @cached_property
    def sizes(self) -> Tensor:
        """(batch, samples) active labels per vector."""
        return (self.offsets[1:] - self.offsets[:-1]).reshape(self.batch, self.samples)

    @cached_property
    def cells(self) -> Tensor:
        """(nnz,) position of each active label in a flattened (batch, labels) table."""
        row = self.vector if self.samples == 1 else torch.div(self.vector, self.samples, rounding_mode="floor")
        return row * self.n_labels + self.indices

    @classmethod
    def from_keys(cls, keys: Tensor, batch: int, samples: int, n_labels: int) -> LabelVectors:
        """From sorted, unique keys ``(b*samples + s) * L + l``."""
        vector = torch.div(keys, n_labels, rounding_mode="floor")
        bounds = torch.arange(batch * samples + 1, device=keys.device)
        return cls(keys - vector * n_labels, torch.searchsorted(vector, bounds), batch, samples, n_labels)

    @classmethod
    def from_dense(cls, y: Tensor) -> LabelVectors:
        """From a {0,1} tensor (batch, samples, labels)."""
        batch, samples, n_labels = y.shape
        return cls.from_keys(y.reshape(-1).nonzero().squeeze(1), batch, samples, n_labels)

    def keys(self) -> Tensor:
        return self.vector * self.n_labels + self.indices

    def to_dense(self, dtype: torch.dtype = torch.float32) -> Tensor:
        """(batch, samples, labels)."""
        flat = torch.zeros(self.batch * self.samples * self.n_labels, dtype=dtype, device=self.indices.device)
        flat[self.keys()] = 1
        return flat.reshape(self.shape)


Labels = Tensor | LabelVectors
"""Dense relaxed (batch, samples, labels) or sparse binary label vectors."""


def inner(y: Labels, weights: Tensor) -> Tensor:
    """``sum_l y[b,s,l] w[b,l]``: weights (batch, labels) -> (batch, samples). Dense y may be (1, samples, labels).

    Outputs of many places, (batch, samples, ..., labels) and (batch, ..., labels), are summed over all of them.
    """
    if isinstance(y, LabelVectors):
        picked = weights.reshape(-1)[y.cells]
        total = torch.zeros(y.batch * y.samples, dtype=weights.dtype, device=weights.device)
        return total.index_add(0, y.vector, picked).reshape(y.batch, y.samples)
    if y.dim() > 3:
        y, weights = y.flatten(2), weights.flatten(1)
    if y.shape[0] == 1:  # the same vectors in every row: one matrix product
        return weights @ y.squeeze(0).T
    return torch.matmul(y, weights.unsqueeze(-1)).squeeze(-1)


def project(y: Labels, matrix: Tensor) -> Tensor:
    """``y C``: matrix (labels, units) -> (batch, samples, units).

    The sparse case is an embedding bag, which torch cannot differentiate twice; a caller who needs
    second derivatives through samples passes them dense (``LabelVectors.to_dense``).
    """
    if isinstance(y, LabelVectors):
        summed = F.embedding_bag(y.indices, matrix, y.offsets, mode="sum", include_last_offset=True)
        return summed.reshape(y.batch, y.samples, matrix.shape[1])
    return torch.matmul(y, matrix)


def dense(y: Labels, dtype: torch.dtype = torch.float32) -> Tensor:
    return y.to_dense(dtype) if isinstance(y, LabelVectors) else y


def beside(truth: Tensor, y: Labels) -> Labels:
    """The truth (batch, ...) as the first of the candidates y (batch, samples, ...)."""
    first = truth.unsqueeze(1)
    return stack(LabelVectors.from_dense(first), y) if isinstance(y, LabelVectors) else torch.cat([first, y], dim=1)


def stack(first: LabelVectors, second: LabelVectors) -> LabelVectors:
    """Join along the sample axis without a sort: labels stay in their order, and where a vector begins follows from the sizes."""
    sizes = torch.cat([first.sizes, second.sizes], dim=1)
    offsets = F.pad(sizes.reshape(-1).cumsum(0), (1, 0))
    begins = offsets[:-1].reshape(sizes.shape).split([first.samples, second.samples], dim=1)
    indices = first.indices.new_empty(len(first.indices) + len(second.indices))
    for part, begin in zip((first, second), begins, strict=True):
        count = len(part.indices)
        shift = (begin.reshape(-1) - part.offsets[:-1]).repeat_interleave(part.sizes.reshape(-1), output_size=count)
        indices[shift + torch.arange(count, device=shift.device)] = part.indices
    return LabelVectors(indices, offsets, first.batch, sizes.shape[1], first.n_labels)
