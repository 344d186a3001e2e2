"""An energy that is an overlap: what a mask is worth beside the mask that the image's features speak for.

    a_pk = softmax_k(w_k . f(x)_p + b_k)                                   the features' own mask
    S_k  = 1 + sum_p y_pk a_pk        D_k = e + sum_p (y_pk + a_pk - 2 y_pk a_pk)        shared pixels, and those of one alone
    O_k  = S_k / (S_k + D_k)
    E(x, y) = -s logit(O) - c,      O = sum_k m_k O_k

With two classes O is that of the second, the object's; with more m_k says how likely the class is there at all, 1 - exp(-sum_p
a_pk), and sums to 1. The pixel that S has before any is shared, beside the little e of D, gives nothing beside nothing a value of
1, as soft IoU does, and lets a mask that misses all still say where to go.

As a value network v = sigma(-E) it has the form of what it is to learn, soft IoU, with its optimum at a mask; a network of
convolutions and dense layers over image and mask learns to tell values, and has its optimum elsewhere. What is learnt by it is a.
It has no closed-form gradient.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from enstruct.energies.base import Term

GRANTED, APART = 1.0, 1e-3
"""Pixels that S and D begin at."""
LEAST = 1e-6
"""Of how likely a class is there."""


class OverlapEnergy(Term):
    name = "overlap"

    def __init__(self, n_features: int, n_classes: int) -> None:
        super().__init__()
        self.scores = nn.Linear(n_features, n_classes)
        self.slope, self.constant = nn.Parameter(torch.ones(())), nn.Parameter(torch.zeros(()))

    def prepare(self, features: Tensor, mask: Tensor | None = None) -> Tensor:
        mask_of_features = torch.softmax(self.scores(features), -1)  # (batch, height, width, classes)
        return mask_of_features if mask is None else mask_of_features * mask

    def forward(self, prepared: Tensor, y: Tensor) -> Tensor:
        first = 1 if y.shape[-1] == 2 else 0
        a = prepared[..., first:].flatten(1, -2).unsqueeze(1)  # (batch, 1, pixels, classes that count)
        y = y[..., first:].flatten(2, -2)
        shared, mine = (y * a).sum(2), a.sum(2)
        same, apart = shared + GRANTED, (y.sum(2) + mine - 2 * shared).clamp(min=0) + APART
        there = torch.ones_like(mine) if first else LEAST - torch.expm1(-mine)
        weight = there / there.sum(-1, keepdim=True) / (same + apart)
        return -self.slope * ((weight * same).sum(-1).log() - (weight * apart).sum(-1).log()) - self.constant
