"""An answer that is the mean of an energy's own draws: marginals of exp(-E), of energies that can draw from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor

from enstruct.energies.base import State
from enstruct.errors import ConfigError
from enstruct.inference.minimise import Solution, Solver, answered
from enstruct.randomness import repeatable
from enstruct.spaces.base import RelaxedSpace
from enstruct.validation import whole


@dataclass(frozen=True)
class MeanOfDraws(Solver):
    """The mean of ``n`` draws of an energy that is one flow (:mod:`enstruct.energies.flow`), the same every time."""

    n: int = 16

    def __post_init__(self) -> None:
        whole(1)("n", self.n)

    @torch.no_grad()
    def solve(self, energy: Any, state: State, space: RelaxedSpace, truth: Tensor | None = None) -> Solution:
        """ConfigError for an energy that cannot draw, and with a cost, which its draws know nothing of."""
        terms = list(getattr(energy, "terms", []))
        if len(terms) != 1 or not hasattr(terms[0], "draw"):
            raise ConfigError("MeanOfDraws asks an energy for its own draws: it needs one whose only term is 'flow'.")
        if truth is not None:
            raise ConfigError("MeanOfDraws draws from the energy alone: it cannot augment it by a cost.")
        prepared = cast(Tensor, state.terms[0])
        with repeatable(0, "cpu"):  # where it draws
            y = terms[0].draw(prepared, self.n).mean(1)
        y = y if state.mask is None else y * state.mask
        return answered(energy, state, space, None, y, True, f"the mean of {self.n} draws for {len(y)} rows.")
