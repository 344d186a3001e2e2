"""The held-out log-likelihood of a joint, label after label in random order:

    -log p(y | x)  =  E_order sum_k -log p(y_k | x, labels before k)  =  L * mean over shares told of the log-loss on asked cells

with the conditionals that the energy answers with (:class:`enstruct.joint.Joint`), so that it is judged by exactly what it will
be asked, from nothing told to all but one.
"""

from __future__ import annotations

import torch
from torch import Tensor

from enstruct.energies.residual import ResidualEnergy
from enstruct.joint import Joint
from enstruct.training.residual_candidates import Examples

PARTS = 5
"""Of the shares of labels told: a share is drawn for each row from each, so that the estimate has no bias."""
CLIP = 1e-6


@torch.no_grad()
def likelihoods(energy: ResidualEnergy, rows: Examples, seed: int, tolerance: float) -> Tensor:
    """(rows,) of held-out -log p(y | x) of the observed labels in nats, times the rows' weights. ``tolerance``: standard error
    of sampled conditionals at most."""
    draws = torch.Generator().manual_seed(seed)
    observed = ~rows.y.isnan()
    count = observed.sum(1, keepdim=True)
    place = torch.rand(rows.y.shape, generator=draws).masked_fill(~observed, 2.0).argsort(1).argsort(1)  # unobserved ones last
    y, total = torch.nan_to_num(rows.y), torch.zeros(len(rows.y))
    joint = Joint(energy, energy.prepare(rows.logits), torch.sigmoid(rows.logits), seed, rows.rules)
    for part in range(PARTS):
        share = (part + torch.rand(len(y), 1, generator=draws)) / PARTS
        told = place < (share * count).floor()  # 0 to count - 1, each as likely in the sum over parts
        p = joint.marginals(torch.where(told, rows.y, torch.nan), tolerance).clamp(CLIP, 1 - CLIP)
        asked = observed & ~told
        loss = torch.where(asked, -(y * p.log() + (1 - y) * (1 - p).log()), 0.0).sum(1)
        total += loss / asked.sum(1).clamp(min=1) * count.squeeze(1) / PARTS
    return total * rows.weight
