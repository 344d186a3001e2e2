"""Pseudo-likelihood (Besag 1975): every label is told from the others.

    L = sum_i -log sigma(s_i (2 y_i - 1)),     s_i = E(x, y with y_i = 0) - E(x, y with y_i = 1)

Consistent for exp(-E)/Z, and without Z. Of the true label set y and those that differ from it in one label, y^i, the summand is
softplus(E(x, y) - E(x, y^i)), which takes an energy of any form (:data:`PSEUDO_LIKELIHOOD`); a residual energy knows the
differences of all labels at once (:func:`pseudo_likelihood`).
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from enstruct.energies.base import State
from enstruct.energies.residual import ResidualEnergy
from enstruct.objectives.base import Density, Objective, Scores


def pseudo_likelihood(energy: ResidualEnergy, state: State, y: Tensor, filled: Tensor, odds: Tensor | None = None) -> Tensor:
    """(batch,) of label sets y (batch, labels), NaN where unobserved, in nats. ``odds`` (batch, labels): log-odds that rules add
    (:func:`enstruct.rules.odds.rule_odds`).

    Labels that nobody observed have no summand; to the others they are told as ``filled``, which for a residual energy is their
    marginal, where they say nothing.
    """
    observed = ~y.isnan()
    logits = energy.flips(state, torch.where(observed, y, filled))
    logits = logits if odds is None else logits + odds
    each = F.binary_cross_entropy_with_logits(logits, torch.nan_to_num(y), reduction="none")
    return torch.where(observed, each, 0.0).sum(1)


def pseudo_likelihood_loss(scores: Scores) -> Tensor:
    """The sum over flips y_k, each as often as it stands for others that were not drawn.

    L = sum_k w_k softplus(E(y) - E(y_k))        y_k: y with one label flipped, w_k = 1 where there is no weight
    """
    each = F.softplus(scores.truth.unsqueeze(1) - scores.negatives)
    return (each if scores.weight is None else scores.weight * each).sum(1)  # (batch,)


PSEUDO_LIKELIHOOD = Objective("pseudo-likelihood", pseudo_likelihood_loss, Density.JOINT)
