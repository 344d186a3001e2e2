"""Pairwise energies: a fully connected pairwise field over labels.

    E_pair(y)    = y' S y + s . y                       S = U' diag(d) U, rank r; or any symmetric S with rank=None
    E_cond(x, y) = sum_{i != j} S_ij(x) y_i y_j         S(x) = U' diag(d + V f(x)) U, rank r

The first is SPEN's eq. 7, the second the field of its deep mean field predictor (A.3). Forms of low rank are O(L r); the full
one is the quadratic table of a CRF. ``convex=True`` takes d >= 0 (rank r only), so that S is positive semi-definite.
``diagonal=False`` (the full table only) keeps S_ii = 0, as mean field wants it: on binary labels the diagonal is a second linear
term, on relaxed ones a label would act on itself.

Of S(x) the diagonal is left out, so that the gradient in y, 2 S(x) y without S_ii y_i, is the field label i feels from the
others and y <- sigma(-dE/dy) is a mean-field update. The paper leaves the dependence on x open; this is the cheapest one that
lets every pair of labels depend on x.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from enstruct.energies.base import Term
from enstruct.errors import ConfigError
from enstruct.spaces.label_vectors import Labels, dense, inner, project


class PairwiseEnergy(Term):
    name = "pairwise"
    has_closed_form = True

    def __init__(self, n_labels: int, rank: int | None = 16, convex: bool = False, diagonal: bool = True) -> None:
        super().__init__()
        if rank is None and convex:
            raise ConfigError("A convex pairwise energy needs a rank: with rank=None the curvature is unconstrained.")
        if rank is not None and not diagonal:
            raise ConfigError("A pairwise energy of low rank has a diagonal; use rank=None, or the conditional pairwise term.")
        self.diagonal = diagonal
        self.convex = convex
        width = n_labels if rank is None else rank
        self.factor = nn.Parameter(torch.empty(n_labels, width))
        self.scale = None if rank is None else nn.Parameter(torch.randn(rank) * 0.1)
        self.linear = nn.Parameter(torch.zeros(n_labels))
        if rank is None:
            nn.init.zeros_(self.factor)
        else:
            nn.init.xavier_uniform_(self.factor)

    def forward(self, prepared: Tensor | None, y: Labels) -> Tensor:
        linear = project(y, self.linear.unsqueeze(1)).squeeze(-1)
        if self.scale is None:
            rows = project(y, self.interactions())  # (batch, samples, labels) = y S
            return linear + (rows * dense(y, rows.dtype)).sum(-1)
        return linear + project(y, self.factor).square() @ self._signed(self.scale)  # (batch, samples)

    def value_and_gradient(self, prepared: Tensor | None, y: Tensor) -> tuple[Tensor, Tensor]:
        if self.scale is None:
            half = y @ self.interactions()  # (batch, samples, labels) = y S
        else:
            half = (y @ self.factor * self._signed(self.scale)) @ self.factor.T
        return y @ self.linear + (half * y).sum(-1), self.linear + 2 * half

    def interactions(self) -> Tensor:
        """S (labels, labels), symmetric."""
        if self.scale is None:
            table = (self.factor + self.factor.T) / 2
            return table if self.diagonal else table - torch.diag(table.diagonal())
        return (self.factor * self._signed(self.scale)) @ self.factor.T

    def _signed(self, scale: Tensor) -> Tensor:
        return F.softplus(scale) if self.convex else scale


class ConditionalPairwiseEnergy(Term):
    name = "conditional-pairwise"
    has_closed_form = True

    def __init__(self, n_features: int, n_labels: int, rank: int = 16) -> None:
        super().__init__()
        self.factor = nn.Parameter(torch.empty(n_labels, rank))
        self.scales = nn.Linear(n_features, rank)
        nn.init.xavier_uniform_(self.factor)
        nn.init.zeros_(self.scales.weight)
        nn.init.normal_(self.scales.bias, std=0.1)

    def prepare(self, features: Tensor, mask: Tensor | None = None) -> Tensor:
        return self.scales(features)  # (batch, rank)

    def forward(self, prepared: Tensor, y: Labels) -> Tensor:
        whole = (project(y, self.factor).square() * prepared.unsqueeze(1)).sum(-1)
        own = y.square() if isinstance(y, Tensor) else y  # a binary label is its own square
        return whole - inner(own, self._diagonal(prepared))

    def value_and_gradient(self, prepared: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        field = (y @ self.factor * prepared.unsqueeze(1)) @ self.factor.T - self._diagonal(prepared).unsqueeze(1) * y
        return (field * y).sum(-1), 2 * field

    def _diagonal(self, scales: Tensor) -> Tensor:
        """S_ii(x) (batch, labels)."""
        return scales @ self.factor.square().T
