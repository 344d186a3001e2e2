"""Cost-augmented contrastive divergence (implicit-training paper, L_CD).

    L = - log [ exp(-E(y)) / sum_{k=0..K} exp(-E(y_k) + cost(y_k)) ]        y_0 = y with cost 0, y_1..K ~ P

The paper prints it without the minus, and s, its "score of goodness", must be a cost, 0 at the truth. One sample gives
softplus(cost + E(y) - E(y_1)): the hinge of the margin objective, softened. The cost bends the fixed point away from any
density, so none is claimed; without it this is the ranking objective.
"""

from __future__ import annotations

import torch
from torch import Tensor

from enstruct.objectives.base import Density, Objective, Scores, required_cost


def contrastive_divergence_loss(scores: Scores) -> Tensor:
    augmented = required_cost(scores) - scores.negatives  # (batch, K)
    return torch.logsumexp(torch.cat([-scores.truth.unsqueeze(1), augmented], dim=1), dim=1) + scores.truth  # (batch,)


CONTRASTIVE_DIVERGENCE = Objective("contrastive-divergence", contrastive_divergence_loss, Density.NONE, needs_cost=True)
