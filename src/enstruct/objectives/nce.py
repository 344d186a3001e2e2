"""Noise-contrastive ranking (Ma & Collins 2018; SEAL eqs. 7, 8).

    L = - log softmax_k [ -E(y_k) - log P(y_k) ]_0        y_0 = y, y_1..K ~ P

The candidates include the truth, and the truth carries its own noise log-probability. At the
optimum exp(-E)/Z = P(y|x). (The SEAL text prints neither the minus nor k = 0 in the sum.)
"""

from __future__ import annotations

import torch
from torch import Tensor

from enstruct.errors import ConfigError
from enstruct.objectives.base import Density, Objective, Scores


def nce_loss(scores: Scores) -> Tensor:
    if scores.log_noise is None or scores.log_noise_truth is None:
        raise ConfigError("NCE ranking needs negatives with log-probabilities: use samples of the predictor.")
    truth = -scores.truth - scores.log_noise_truth
    negatives = -scores.negatives - scores.log_noise
    return torch.logsumexp(torch.cat([truth.unsqueeze(1), negatives], dim=1), dim=1) - truth  # (batch,)


NCE = Objective("nce", nce_loss, Density.JOINT, needs_noise=True)
