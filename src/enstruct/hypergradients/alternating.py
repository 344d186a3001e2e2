"""Alternating updates: each player descends its own loss with the other held fixed (SEAL eqs. 3, 4).

The outer gradient is the explicit term alone,   dL_prim/dphi = ∂L_prim/∂phi,
as if the predictor's optimum did not move when the energy changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch

from enstruct.hypergradients.bilevel import Bilevel, Coupling, Hypergradient


@dataclass(frozen=True)
class Alternating(Coupling):
    """Fields: :class:`~enstruct.hypergradients.bilevel.Coupling`."""

    through_predictor: ClassVar[bool] = False

    def gradient(self, problem: Bilevel) -> Hypergradient:
        outer = problem.outer(problem.theta)
        return Hypergradient(torch.autograd.grad(outer, problem.phi, allow_unused=True), outer)
