"""Potts energy: neighbouring pixels like to agree, the more the more alike they look.

    E_potts(x, y) = sum_{(p, q) neighbours}  w_pq(x) (s_p s_q - y_p . y_q)         s_p = sum_k y_pk: 1 at known pixels, else 0
    w_pq(x) = softplus(u . |f_p(x) - f_q(x)| + c)  >= 0                            one u, c for rows and one for columns

Relaxed y pays for every pair by how unlike its two ends are; equal hard classes pay nothing. The weights are computed once from
the image. The gradient is the neighbours' weighted sum:

    dE/dy_p = sum_q  w_pq (s_q - y_q)
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from enstruct.energies.base import Term

STEPS = ((0, 1), (1, 0))
"""From p to q: a column on, a row on."""


class PottsEnergy(Term):
    name = "potts"
    has_closed_form = True

    def __init__(self, n_features: int) -> None:
        super().__init__()
        self.contrast = nn.Parameter(torch.zeros(len(STEPS), n_features))
        self.strength = nn.Parameter(torch.full((len(STEPS),), -1.0))

    def prepare(self, features: Tensor, mask: Tensor | None = None) -> Tensor:
        """(batch, 2, height, width) weights to the next column and the next row, 0 where there is none."""
        weights = []
        for number, step in enumerate(STEPS):
            here, there = _pair(features, step)
            w = F.softplus((here - there).abs() @ self.contrast[number] + self.strength[number])
            weights.append(F.pad(w, (0, step[1], 0, step[0])))
        return torch.stack(weights, dim=1)

    def forward(self, prepared: Tensor, y: Tensor) -> Tensor:
        energy = y.new_zeros(())
        for number, step in enumerate(STEPS):
            here, there = _pair(y, step)
            apart = here.sum(-1) * there.sum(-1) - (here * there).sum(-1)  # (batch, samples, height', width')
            energy = energy + (apart * _inner(prepared[:, number], step).unsqueeze(1)).sum((-2, -1))
        return energy

    def value_and_gradient(self, prepared: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        disagreement = y.sum(-1, keepdim=True) - y
        slope = torch.zeros_like(y.expand(prepared.shape[0], *y.shape[1:]))
        for number, step in enumerate(STEPS):
            w = _inner(prepared[:, number], step).unsqueeze(1).unsqueeze(-1)
            here, there = _pair(disagreement, step)
            front, back = (0, 0, 0, step[1], 0, step[0]), (0, 0, step[1], 0, step[0], 0)
            slope = slope + F.pad(w * there, front) + F.pad(w * here, back)
        return self(prepared, y), slope


def _pair(grid: Tensor, step: tuple[int, int]) -> tuple[Tensor, Tensor]:
    """The ends of every pair of neighbours of a grid (..., height, width, channels)."""
    down, right = step
    height, width = grid.shape[-3] - down, grid.shape[-2] - right
    return grid[..., :height, :width, :], grid[..., down:, right:, :]


def _inner(weights: Tensor, step: tuple[int, int]) -> Tensor:
    """(batch, height', width') without the border that has no neighbour."""
    return weights[:, : weights.shape[1] - step[0], : weights.shape[2] - step[1]]
