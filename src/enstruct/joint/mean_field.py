"""Mean field: m_i <- sigma(s_i(m)), s_i the log-odds of label i while all others are at their means. Deterministic and cheap.
The first step goes all the way, later ones half of it.

Exact for an energy without couplings, good where couplings are weak; a start for chains elsewhere.
"""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor

from enstruct.energies.base import State
from enstruct.energies.residual import ResidualEnergy

STEPS, DAMPING, CELLS = 10, 0.5, 2**22


@torch.no_grad()
def mean_field(energy: ResidualEnergy, state: State, known: Tensor, steps: int = STEPS) -> Tensor:
    """(rows, labels): means of the free labels, told values elsewhere. Starts from those that the energy has of the base."""
    units = 1 if energy.matrix is None else energy.matrix.shape[1]
    blocks = torch.arange(len(known)).split(max(1, CELLS // (known.shape[1] * units)))
    parts = [settled(energy, state.rows(some), known[some], steps) for some in blocks]
    return torch.cat(parts) if parts else known


def settled(energy: ResidualEnergy, state: State, told: Tensor, steps: int = STEPS) -> Tensor:
    """As :func:`mean_field`, all rows at once, by operations that a graph can have."""
    free = told.isnan()
    mean = torch.where(free, cast(Tensor, state.terms[1]), told)  # which a residual energy's own state has
    for k in range(steps):
        step = torch.sigmoid(energy.flips(state, mean))
        mean = torch.where(free, torch.lerp(step, mean, DAMPING if k else 0.0), told)
    return mean
