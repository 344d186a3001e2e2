"""Alternating updates: each player descends its own loss with the other held fixed (SEAL eqs. 3, 4).

The outer gradient is the explicit term alone,   dL_E/dphi = ∂L_E/∂phi,
as if the predictor's optimum did not move when the energy changes. What moves it is added by the
implicit and unrolled couplings, which replace this object.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from enstruct.errors import ConfigError

Player = Literal["energy", "predictor"]


@dataclass(frozen=True)
class Alternating:
    """``repeats`` times on one batch: ``energy_steps`` and ``predictor_steps`` updates, ``first`` one first.

    The published systems' (nE, nF) is ``Alternating(energy_steps=nE, predictor_steps=1, repeats=nF)``.
    """

    energy_steps: int = 1
    predictor_steps: int = 1
    first: Player = "energy"
    repeats: int = 1

    def __post_init__(self) -> None:
        for name in ("energy_steps", "predictor_steps", "repeats"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} must be at least 1, not {getattr(self, name)}.")
        if self.first not in ("energy", "predictor"):
            raise ConfigError(f"first must be 'energy' or 'predictor', not {self.first!r}.")

    def schedule(self) -> Iterator[Player]:
        """Who moves, update by update, on one batch."""
        energy: list[Player] = ["energy"] * self.energy_steps
        predictor: list[Player] = ["predictor"] * self.predictor_steps
        for _ in range(self.repeats):
            yield from energy + predictor if self.first == "energy" else predictor + energy

    def gradient(self, outer_loss: Tensor, parameters: list[Tensor]) -> tuple[Tensor | None, ...]:
        """d outer_loss / d energy parameters."""
        return torch.autograd.grad(outer_loss, parameters, allow_unused=True)
