"""SEAL's energy-only SPEN with the loss as its code has it, which its paper does not: for the published protocol alone.

    ȳ = sigma(y),  y in [0, 1] after 20 steps on E(x, sigma(y)),        the best iterate by E(x, ȳ) - Δ(ȳ, truth)

Points of [0, 1] are relaxed once more, so that the energy is trained on outputs between 1/2 and sigma(1) = 0.73, and asked
at test time for y itself; and the cost, which is detached, has no part in the steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from enstruct.energies.base import State
from enstruct.negatives import InferencePoint, Situation
from enstruct.negatives.base import Candidates
from enstruct.spaces.base import RelaxedSpace


@dataclass(frozen=True)
class RelaxedTwice(InferencePoint):
    def draw(self, at: Situation, space: RelaxedSpace) -> Candidates:
        solver = self.inference.resolve(space.relax(at.logits))
        found = solver.solve(_OfRelaxed(at.energy), at.state.detached(), _DetachedCost(space), at.truth).y
        return Candidates(torch.sigmoid(found).unsqueeze(1))


class _OfRelaxed:
    """E(x, sigma(y))."""

    def __init__(self, energy: Any) -> None:
        self.energy = energy
        self.parameters = energy.parameters

    def __call__(self, state: State, y: Tensor) -> Tensor:
        value: Tensor = self.energy(state, torch.sigmoid(y))
        return value


class _DetachedCost:
    """A space whose cost is that of sigma(y), and has no slope."""

    def __init__(self, space: RelaxedSpace) -> None:
        self.space = space

    def __getattr__(self, name: str) -> Any:
        return getattr(self.space, name)

    def cost(self, y: Tensor, truth: Tensor, mask: Tensor | None = None) -> Tensor:
        return self.space.cost(torch.sigmoid(y), truth, mask)

    def cost_gradient(self, y: Tensor, truth: Tensor, mask: Tensor | None = None) -> Tensor:
        return torch.zeros_like(y)
