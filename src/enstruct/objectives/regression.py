"""Objectives that learn from the cost itself: of any candidates by regression, of inference's answers through inference."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from enstruct.objectives.base import Density, Objective, Scores, required_cost, value


def regression_loss(scores: Scores) -> Tensor:
    """Regression of a bounded value on the metric (DVN, Gygli et al. 2017; SEAL eq. 6).

        v = sigma(s), s = -E;      L = mean_k  - t_k log v_k - (1 - t_k) log(1 - v_k),    t_k = 1 - cost(y_k)

    with the soft F1 as 1 - cost. In both players' losses the energy is -v, so it is bounded and no
    log-density. (The SEAL text's eq. 6 prints -E where its code uses logits; this is the code's form.)
    """
    target = 1 - required_cost(scores)
    loss = F.binary_cross_entropy_with_logits(-scores.negatives, target, reduction="none")
    return loss.mean(1)  # (batch,)


def end_to_end_loss(scores: Scores) -> Tensor:
    """The cost of the answers themselves, for candidates that carry their graph (SPEN end-to-end, Belanger et al. 2017).

        L = mean_k cost(y_k)                with y_k the iterates of unrolled inference, cost = log loss

    The energy is trained only through the answers it leads inference to; it is no log-density.
    """
    return required_cost(scores).mean(1)  # (batch,)


REGRESSION = Objective("regression", regression_loss, Density.NONE, needs_cost=True, absolute_cost=True, as_loss=value)
END_TO_END = Objective("end-to-end", end_to_end_loss, Density.NONE, needs_cost=True)
