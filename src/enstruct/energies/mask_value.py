"""A value network over a mask beside its image (DVN; Gygli et al. 2017, horses), whose optimum is to lie at whole masks.

    h1 = g(A * f(x) + B * y + b)         5x5                           [f(x), y] read by one convolution, in two parts
    h2 = g(C * h1 + c)                   5x5, stride 2
    h3 = g(D * h2 + d)                   5x5, stride 2
    E(x, y) = -w . g(F g(G pooled(h3)))                                pooled to 6 x 6 cells, so any size of image goes in

Without a local term beside it: one that is summed over pixels outweighs what this network knows of shapes, and has its optimum
wherever pixels like to be. The part that sees x is computed once, in ``prepare``. It has no closed-form gradient.
"""

from __future__ import annotations

from typing import cast

import torch.nn.functional as F
from torch import Tensor, nn

from enstruct.encoders.activations import ACTIVATIONS, check_activation
from enstruct.encoders.conv import channels_first
from enstruct.energies.base import Term

CELLS = 6
"""Rows and columns that the last feature map is pooled to: 32 x 32 images keep nearly all of it."""
DENSE = (192, 96)
"""Widths of the layers that are fully connected, half of the published ones."""


class MaskValueEnergy(Term):
    name = "mask-value"

    def __init__(self, n_features: int, n_classes: int, units: int = 32, nonlinearity: str = "relu") -> None:
        super().__init__()
        check_activation(nonlinearity)
        self.nonlinearity = nonlinearity
        self.of_features = nn.Conv2d(n_features, units, 5, padding=2)
        self.of_mask = nn.Conv2d(n_classes, units, 5, padding=2, bias=False)
        self.second = nn.Conv2d(units, 2 * units, 5, stride=2, padding=2)
        self.third = nn.Conv2d(2 * units, 2 * units, 5, stride=2, padding=2)
        self.measures = nn.ModuleList([nn.Linear(2 * units * CELLS**2, DENSE[0]), nn.Linear(*DENSE)])
        self.weights = nn.Linear(DENSE[1], 1, bias=False)

    def prepare(self, features: Tensor, mask: Tensor | None = None) -> Tensor:
        return cast(Tensor, self.of_features(channels_first(features)))  # (batch, units, height, width)

    def forward(self, prepared: Tensor, y: Tensor) -> Tensor:
        g = ACTIVATIONS[self.nonlinearity]
        seen = self.of_mask(channels_first(y.flatten(0, 1)))
        h = g(seen.view(*y.shape[:2], *seen.shape[1:]) + prepared.unsqueeze(1))  # (batch, samples, units, height, width)
        shape = h.shape[:2]
        h = F.adaptive_avg_pool2d(g(self.third(g(self.second(h.flatten(0, 1))))), CELLS).flatten(1)
        for measure in self.measures:
            h = g(measure(h))
        return -cast(Tensor, self.weights(h)).view(shape)
