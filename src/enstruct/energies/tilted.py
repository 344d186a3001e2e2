"""An energy relative to a predictor, made absolute: for densities P(y) exp(-E)/Z with P independent Bernoullis,

    E_tilted(x, y) = E(x, y) - sum_l y_l z_l            z the predictor's logits; the constant of log P is left out

so that minimising it (with the entropy term) searches the whole density. The logits travel as the state's last term.
"""

from __future__ import annotations

from typing import Any, cast

from torch import Tensor, nn

from enstruct.energies.base import State
from enstruct.spaces.label_vectors import Labels, inner


class TiltedEnergy(nn.Module):
    def __init__(self, energy: Any) -> None:
        super().__init__()
        self.energy = energy

    @property
    def has_closed_form(self) -> bool:
        return bool(getattr(self.energy, "has_closed_form", False))

    def prepare_with(self, state: State, logits: Tensor) -> State:
        return state._replace(terms=(*state.terms, logits if state.mask is None else logits * state.mask))

    def forward(self, state: State, y: Labels) -> Tensor:
        below, logits = _split(state)
        return cast(Tensor, self.energy(below, y)) - inner(y, logits)

    def value_and_gradient(self, state: State, y: Tensor) -> tuple[Tensor, Tensor]:
        below, logits = _split(state)
        value, gradient = self.energy.value_and_gradient(below, y)
        return value - inner(y, logits), gradient - logits.unsqueeze(1)


def _split(state: State) -> tuple[State, Tensor]:
    return state._replace(terms=state.terms[:-1]), cast(Tensor, state.terms[-1])
