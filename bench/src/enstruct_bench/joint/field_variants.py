"""The field of pixels of :mod:`enstruct.joint.pixels`, learnt and answered in other ways, for comparison.

pseudo_likelihood    the numbers by mean of -log p(y_p | x, told, the four neighbours as they truly are) (Besag 1975)
gibbs_marginals      answers by blocked Gibbs sampling: the pixels of a chessboard's two colours are drawn in turn, each colour
                     at once, given the other; means of the conditionals over sweeps and chains, begun at mean field
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from enstruct.joint.pixels import Field, Grids, Pictures, board, mean_field

SWEEPS, BURN_IN, CHAINS = 20, 5, 8


def pseudo_likelihood(field: Field, pictures: Pictures, truth: Tensor) -> Tensor:
    """(images, height, width, classes) log-probabilities of each pixel, its neighbours as in ``truth`` (images, height, width);
    unknown ones, -1, as the segmenter has them."""
    grids = Grids.of(field, pictures)
    right = F.one_hot(truth.clamp(min=0), grids.scores.shape[3]).to(grids.scores.dtype)
    return grids.given(torch.where((truth >= 0).unsqueeze(3), right, torch.from_numpy(pictures.p)))


@torch.no_grad()
def gibbs_marginals(
    field: Field, p: NDArray[np.float32], x: NDArray[np.float32], told: NDArray[np.int64], seed: int = 0
) -> NDArray[Any]:
    """(height, width, classes) p(y_p | x, told) of one image; told pixels as they were told."""
    one = Pictures(p[None], x[None], told[None])
    grids, n = Grids.of(field, one), p.shape[2]
    draws = torch.Generator().manual_seed(seed)
    fixed, clamped = (torch.from_numpy(told) >= 0).unsqueeze(2), F.one_hot(torch.from_numpy(told).clamp(min=0), n).float()
    colours, start = board(*told.shape), mean_field(field, one)[0].exp()
    y = torch.where(fixed, clamped, _drawn(start.expand(CHAINS, -1, -1, -1), draws))
    total = torch.zeros(*told.shape, n)
    for sweep in range(BURN_IN + SWEEPS):
        for colour in (0, 1):
            here = grids.given(y).exp()
            y = torch.where((colours == colour) & ~fixed, _drawn(here, draws), y)
            if sweep >= BURN_IN:
                total += torch.where(colours == colour, here.mean(0), 0.0)
    return torch.where(fixed, clamped, total / SWEEPS).numpy()


def _drawn(p: Tensor, draws: torch.Generator) -> Tensor:
    """One-hot classes (chains, height, width, classes) by their probabilities."""
    below = p.cumsum(3)
    height = torch.rand(*p.shape[:3], 1, generator=draws) * below[..., -1:]
    return F.one_hot((below <= height).sum(3).clamp(max=p.shape[3] - 1), p.shape[3]).float()
