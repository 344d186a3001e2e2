"""An energy that is an overlap: what a mask is worth beside the mask that the image's features speak for.

    a_pk = softmax_k(w_k . f(x)_p + b_k)                                   the features' own mask
    O_k  = sum_p y_pk a_pk / sum_p (y_pk + a_pk - y_pk a_pk)
    E(x, y) = -s logit(O) - c,      O = sum_k m_k O_k

With two classes O is that of the second, the object's; with more m_k says how likely the class is there at all, 1 - exp(-sum_p
a_pk), and sums to 1. As a value network v = sigma(-E) it has the form of what it is to learn, soft IoU, with its optimum at a
mask; a network of convolutions and dense layers over image and mask learns to tell values, and has its optimum elsewhere. What is
learnt by it is a. It has no closed-form gradient.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from enstruct.energies.base import Term

LEAST = 1e-4
"""O is kept so far from 0 and 1, where its log-odds end."""
PIXEL = 1e-3
"""Added to both sums, in pixels, so that nothing beside nothing has a value, 1/2."""


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
        overlap = (shared + PIXEL) / (y.sum(2) + mine - shared + 2 * PIXEL)
        if not first:
            there = -torch.expm1(-mine)
            overlap = overlap * there / there.sum(-1, keepdim=True).clamp(min=LEAST)
        return -self.slope * torch.logit(overlap.sum(-1), LEAST) - self.constant
