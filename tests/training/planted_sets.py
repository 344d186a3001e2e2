"""Planted distributions over six labels, and samples of them."""

import torch
from tests.joint.problems import random_logits
from tests.training.planted import draw, planted

from enstruct.training.residual_candidates import Examples

L, N = 6, 1000


def pairwise():
    """Couplings of both signs."""
    table = torch.randn(L, L, generator=torch.Generator().manual_seed(0)).triu(1)
    return table + table.T


def blocks():
    """Two blocks of three labels, of which hardly two are on together: exp(-5) times as likely."""
    table = torch.zeros(L, L)
    table[:3, :3] = table[3:, 3:] = -5
    return table.fill_diagonal_(0)


PLANTED = {"pairwise": pairwise, "exclusive blocks": blocks}


def sample(couplings, seed=0, rows=N):
    truth, logits = planted(couplings), random_logits(rows, L, seed) * 0.8
    return truth, Examples(logits, draw(truth, logits, seed), torch.ones(rows))
