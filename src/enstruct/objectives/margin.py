"""Margin-rescaled structured hinge (SPEN eq. 8; SEAL eq. 5).

    L = mean_k [ cost(y_k) - E(y_k) + E(y) ]_+

The energy is no log-density. The predictor's own loss carries no hinge (SEAL Algorithm 1).
"""

from __future__ import annotations

from torch import Tensor

from enstruct.objectives.base import Density, Objective, Scores, required_cost


def margin_loss(scores: Scores) -> Tensor:
    violation = required_cost(scores) - scores.negatives + scores.truth.unsqueeze(1)
    return violation.clamp(min=0).mean(1)  # (batch,)


MARGIN = Objective("margin", margin_loss, Density.NONE, needs_cost=True)
