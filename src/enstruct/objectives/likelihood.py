"""Negative log-likelihood of an energy whose partition function is known (linear-chain CRF; Lafferty et al. 2001).

L = -log P(y|x) = E(x, y) - F(x),        F = -log sum_y' exp(-E(x, y'))   the one negative: the free energy
"""

from __future__ import annotations

from torch import Tensor

from enstruct.objectives.base import Density, Objective, Scores


def likelihood_loss(scores: Scores) -> Tensor:
    return scores.truth - scores.negatives[:, 0]  # (batch,)


LIKELIHOOD = Objective("likelihood", likelihood_loss, Density.JOINT)
