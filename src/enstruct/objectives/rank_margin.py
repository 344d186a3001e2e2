"""Rank margin between neighbouring candidates (R-SPEN, Rooshenas et al. 2018; SG-SPEN 2019).

    L = mean_k [ α (c_low - c_high) - (E_low - E_high) ]_+        of candidates k and k + 1, "high" the one of lower cost

α is ``ALPHA``; pairs of one cost say nothing. It reads no truth: rows need a reward at most.
"""

from __future__ import annotations

import torch
from torch import Tensor

from enstruct.objectives.base import Density, Objective, Scores, required_cost

ALPHA = 1.0


def rank_margin_loss(scores: Scores) -> Tensor:
    cost, energy = required_cost(scores), scores.negatives
    gap, rise = cost[:, 1:] - cost[:, :-1], energy[:, 1:] - energy[:, :-1]  # (batch, K - 1)
    violation = (ALPHA * gap.abs() - torch.sign(gap) * rise).clamp(min=0)
    return (violation * (gap != 0)).mean(1)  # (batch,)


RANK_MARGIN = Objective("rank-margin", rank_margin_loss, Density.NONE, needs_cost=True, needs_truth=False)
