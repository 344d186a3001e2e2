"""Plain ranking: NCE ranking without the noise term (SEAL eq. 10).

    L = - log softmax_k [ -E(y_k) ]_0        y_0 = y, y_1..K ~ P

What it estimates is relative to the sampler: P(y) exp(-E(y)) / Z (SEAL, appendix A).
"""

from __future__ import annotations

import torch
from torch import Tensor

from enstruct.objectives.base import Density, Objective, Scores


def ranking_loss(scores: Scores) -> Tensor:
    scored = torch.cat([scores.truth.unsqueeze(1), scores.negatives], dim=1)
    return torch.logsumexp(-scored, dim=1) + scores.truth  # (batch,)


RANKING = Objective("ranking", ranking_loss, Density.RELATIVE)
