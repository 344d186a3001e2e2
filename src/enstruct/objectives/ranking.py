"""Objectives that rank the truth by a softmax among all candidates: plain, with the sampler's noise, with costs, exactly."""

from __future__ import annotations

import torch
from torch import Tensor

from enstruct.errors import ConfigError
from enstruct.objectives.base import Density, Objective, Scores, required_cost


def _surprise(truth: Tensor, negatives: Tensor) -> Tensor:
    """(batch,) - log softmax of the truth's score (batch,) among itself and the negatives' (batch, K)."""
    return torch.logsumexp(torch.cat([truth.unsqueeze(1), negatives], dim=1), dim=1) - truth


def ranking_loss(scores: Scores) -> Tensor:
    """Plain ranking: NCE ranking without the noise term (SEAL eq. 10).

        L = - log softmax_k [ -E(y_k) ]_0        y_0 = y, y_1..K ~ P

    What it estimates is relative to the sampler: P(y) exp(-E(y)) / Z (SEAL, appendix A).
    """
    return _surprise(-scores.truth, -scores.negatives)  # (batch,)


def nce_loss(scores: Scores) -> Tensor:
    """Noise-contrastive ranking (Ma & Collins 2018; SEAL eqs. 7, 8).

        L = - log softmax_k [ -E(y_k) - log P(y_k) ]_0        y_0 = y, y_1..K ~ P

    The candidates include the truth, and the truth carries its own noise log-probability. At the
    optimum exp(-E)/Z = P(y|x). (The SEAL text prints neither the minus nor k = 0 in the sum.)
    """
    if scores.log_noise is None or scores.log_noise_truth is None:
        raise ConfigError("NCE ranking needs negatives with log-probabilities: use samples of the predictor.")
    return _surprise(-scores.truth - scores.log_noise_truth, -scores.negatives - scores.log_noise)  # (batch,)


def conditional_nce_loss(scores: Scores) -> Tensor:
    """NCE ranking given some of the labels: candidates share them with the truth, and their noise is that of the others alone.

        L = - log softmax_k [ -E(y_k) - log P(y_k,A) ]_0        y_0 = y, y_k,A ~ P on the asked labels A, y_k = y elsewhere

    A is drawn anew for every row, so that at the optimum exp(-E)/Z has all conditionals of P(y|x), and thereby is it.
    """
    return nce_loss(scores)  # (batch,)


def contrastive_divergence_loss(scores: Scores) -> Tensor:
    """Cost-augmented contrastive divergence (implicit-training paper, L_CD).

        L = - log [ exp(-E(y)) / sum_{k=0..K} exp(-E(y_k) + cost(y_k)) ]        y_0 = y with cost 0, y_1..K ~ P

    The paper prints it without the minus, and s, its "score of goodness", must be a cost, 0 at the truth. One sample gives
    softplus(cost + E(y) - E(y_1)): the hinge of the margin objective, softened. The cost bends the fixed point away from any
    density, so none is claimed; without it this is the ranking objective.
    """
    return _surprise(-scores.truth, required_cost(scores) - scores.negatives)  # (batch,)


def likelihood_loss(scores: Scores) -> Tensor:
    """Negative log-likelihood of an energy whose partition function is known (linear-chain CRF; Lafferty et al. 2001).

    L = -log P(y|x) = E(x, y) - F(x),        F = -log sum_y' exp(-E(x, y'))   the one negative: the free energy
    """
    return scores.truth - scores.negatives[:, 0]  # (batch,)


RANKING = Objective("ranking", ranking_loss, Density.RELATIVE)
NCE = Objective("nce", nce_loss, Density.JOINT, needs_noise=True)
CONDITIONAL_NCE = Objective("conditional-nce", conditional_nce_loss, Density.JOINT, needs_noise=True)
CONTRASTIVE_DIVERGENCE = Objective("contrastive-divergence", contrastive_divergence_loss, Density.NONE, needs_cost=True)
LIKELIHOOD = Objective("likelihood", likelihood_loss, Density.JOINT)
