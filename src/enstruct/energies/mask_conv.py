"""Convolutional energy of a mask beside its image: what shapes go with what pixels (DVN's and SEAL's energy for horses).

    h1 = g(A * f(x) + B * y + b)         5x5, stride 2                 [f(x), y] read by one convolution, in two parts
    h2 = g(C * h1 + c)                   5x5, stride 2
    E_conv(x, y) = v . g(D pooled(h2) + d)                             pooled to 4 x 4 cells, so any size of image goes in

The part that sees x is computed once, in ``prepare``; every further mask costs the rest. It has no closed-form gradient.
"""

from __future__ import annotations

from typing import cast

import torch.nn.functional as F
from torch import Tensor, nn

from enstruct.encoders.activations import ACTIVATIONS, check_activation
from enstruct.encoders.conv import channels_first
from enstruct.energies.base import Term

CELLS = 4
"""Rows and columns that the last feature map is pooled to: where things are still counts, coarsely."""


class MaskConvEnergy(Term):
    name = "mask-conv"

    def __init__(self, n_features: int, n_classes: int, units: int = 32, nonlinearity: str = "relu") -> None:
        super().__init__()
        check_activation(nonlinearity)
        self.nonlinearity = nonlinearity
        self.of_features = nn.Conv2d(n_features, units, 5, stride=2, padding=2)
        self.of_mask = nn.Conv2d(n_classes, units, 5, stride=2, padding=2, bias=False)
        self.second = nn.Conv2d(units, 2 * units, 5, stride=2, padding=2)
        self.measure = nn.Linear(2 * units * CELLS**2, 2 * units)
        self.weights = nn.Linear(2 * units, 1, bias=False)

    def prepare(self, features: Tensor, mask: Tensor | None = None) -> Tensor:
        return cast(Tensor, self.of_features(channels_first(features)))  # (batch, units, height / 2, width / 2)

    def forward(self, prepared: Tensor, y: Tensor) -> Tensor:
        g = ACTIVATIONS[self.nonlinearity]
        seen = self.of_mask(channels_first(y.flatten(0, 1)))
        h = g(seen.view(*y.shape[:2], *seen.shape[1:]) + prepared.unsqueeze(1))  # (batch, samples, units, ...)
        pooled = F.adaptive_avg_pool2d(g(self.second(h.flatten(0, 1))), CELLS)
        return cast(Tensor, self.weights(g(self.measure(pooled.flatten(1))))).view(h.shape[:2])
