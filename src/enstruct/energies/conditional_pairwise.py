"""Pairwise energy whose interactions depend on x: the field of SPEN's deep mean field predictor (A.3).

    E(x, y) = sum_{i != j} S_ij(x) y_i y_j          S(x) = U' diag(d + V f(x)) U, rank r

The diagonal is left out, so that the gradient in y, 2 S(x) y without S_ii y_i, is the field label i feels from the others
and y <- sigma(-dE/dy) is a mean-field update. O(L r). The paper leaves the dependence on x open; this is the
cheapest one that lets every pair of labels depend on x.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from enstruct.energies.base import Term
from enstruct.spaces.label_vectors import Labels, inner, project


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
