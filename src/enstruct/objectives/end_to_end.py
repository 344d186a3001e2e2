"""The cost of the answers themselves, for candidates that carry their graph (SPEN end-to-end, Belanger et al. 2017).

    L = mean_k cost(y_k)                with y_k the iterates of unrolled inference, cost = log loss

The energy is trained only through the answers it leads inference to; it is no log-density.
"""

from __future__ import annotations

from torch import Tensor

from enstruct.objectives.base import Density, Objective, Scores, required_cost


def end_to_end_loss(scores: Scores) -> Tensor:
    return required_cost(scores).mean(1)  # (batch,)


END_TO_END = Objective("end-to-end", end_to_end_loss, Density.NONE, needs_cost=True)
