"""Hinges: the energies of candidates are to lie apart as their costs do. Such an energy is no log-density."""

from __future__ import annotations

import torch
from torch import Tensor

from enstruct.objectives.base import Density, Objective, Scores, required_cost

PERCEPTRON_WEIGHT = 10.0
"""Λ of the InfNet+ paper."""
ALPHA = 1.0
"""α of the rank margin."""


def margin_loss(scores: Scores) -> Tensor:
    """Margin-rescaled structured hinge (SPEN eq. 8; SEAL eq. 5).

        L = mean_k [ cost(y_k) - E(y_k) + E(y) ]_+

    The predictor's own loss carries no hinge (SEAL Algorithm 1).
    """
    violation = required_cost(scores) - scores.negatives + scores.truth.unsqueeze(1)
    return violation.clamp(min=0).mean(1)  # (batch,)


def margin_perceptron_loss(scores: Scores) -> Tensor:
    """InfNet+ (Tu et al. 2020): a perceptron at the predictor's own output, which comes as the second candidate, is added.

    L = [ cost(A) - E(A) + E(y) ]_+  +  PERCEPTRON_WEIGHT [ E(y) - E(F) ]_+
    """
    margin = required_cost(scores)[:, 0] - scores.negatives[:, 0] + scores.truth
    perceptron = scores.truth - scores.negatives[:, 1]
    return margin.clamp(min=0) + PERCEPTRON_WEIGHT * perceptron.clamp(min=0)  # (batch,)


def rank_margin_loss(scores: Scores) -> Tensor:
    """Rank margin between neighbouring candidates (R-SPEN, Rooshenas et al. 2018; SG-SPEN 2019).

        L = mean_k [ α (c_low - c_high) - (E_low - E_high) ]_+        of candidates k and k + 1, "high" the one of lower cost

    Pairs of one cost say nothing. It reads no truth: rows need a reward at most.
    """
    cost, energy = required_cost(scores), scores.negatives
    gap, rise = cost[:, 1:] - cost[:, :-1], energy[:, 1:] - energy[:, :-1]  # (batch, K - 1)
    violation = (ALPHA * gap.abs() - torch.sign(gap) * rise).clamp(min=0)
    return (violation * (gap != 0)).mean(1)  # (batch,)


MARGIN = Objective("margin", margin_loss, Density.NONE, needs_cost=True)
MARGIN_PERCEPTRON = Objective("margin-perceptron", margin_perceptron_loss, Density.NONE, needs_cost=True)
RANK_MARGIN = Objective("rank-margin", rank_margin_loss, Density.NONE, needs_cost=True, needs_truth=False)
