"""Margin-rescaled structured hinge (SPEN eq. 8; SEAL eq. 5).

    L = mean_k [ cost(y_k) - E(y_k) + E(y) ]_+

InfNet+ (Tu et al. 2020) adds a perceptron at the predictor's own output, which comes as the second candidate:

    L = [ cost(A) - E(A) + E(y) ]_+  +  PERCEPTRON_WEIGHT [ E(y) - E(F) ]_+

The energy is no log-density. The predictor's own loss carries no hinge (SEAL Algorithm 1).
"""

from __future__ import annotations

from torch import Tensor

from enstruct.objectives.base import Density, Objective, Scores, required_cost


def margin_loss(scores: Scores) -> Tensor:
    violation = required_cost(scores) - scores.negatives + scores.truth.unsqueeze(1)
    return violation.clamp(min=0).mean(1)  # (batch,)


MARGIN = Objective("margin", margin_loss, Density.NONE, needs_cost=True)


PERCEPTRON_WEIGHT = 10.0
"""Λ of the InfNet+ paper."""


def margin_perceptron_loss(scores: Scores) -> Tensor:
    margin = required_cost(scores)[:, 0] - scores.negatives[:, 0] + scores.truth
    perceptron = scores.truth - scores.negatives[:, 1]
    return margin.clamp(min=0) + PERCEPTRON_WEIGHT * perceptron.clamp(min=0)  # (batch,)


MARGIN_PERCEPTRON = Objective("margin-perceptron", margin_perceptron_loss, Density.NONE, needs_cost=True)
