"""Pseudo-likelihood (Besag 1975): every label is told from the others.

    L = sum_i -log sigma(s_i (2 y_i - 1)),     s_i = E(x, y with y_i = 0) - E(x, y with y_i = 1)

Consistent for exp(-E)/Z, and without Z. Labels that nobody observed have no summand; to the others they are told as ``filled``,
which for a residual energy is their marginal, where they say nothing.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from enstruct.energies.base import State
from enstruct.energies.residual import ResidualEnergy


def pseudo_likelihood(energy: ResidualEnergy, state: State, y: Tensor, filled: Tensor) -> Tensor:
    """(batch,) of label sets y (batch, labels), NaN where unobserved, in nats."""
    observed = ~y.isnan()
    logits = energy.flips(state, torch.where(observed, y, filled))
    each = F.binary_cross_entropy_with_logits(logits, torch.nan_to_num(y), reduction="none")
    return torch.where(observed, each, 0.0).sum(1)
