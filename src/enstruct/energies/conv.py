"""Windowed energy: learned measurements of every stretch of tags (SPEN's global energy, slid along a sequence).

    E_conv(y) = sum_t  v . g( sum_{|i| <= r}  C_i' y_{t+i} + b )         C_i (tags, units), window 2r + 1

It sees patterns of tags wider than a pair. Places count as in :mod:`enstruct.energies.chain`: holes are closed up first, beyond
the ends is nothing, and only windows centred on a tag are summed.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from enstruct.encoders.activations import ACTIVATIONS, check_activation
from enstruct.energies.base import Term
from enstruct.energies.chain import squeezed, tag_places
from enstruct.errors import ConfigError


class ConvEnergy(Term):
    name = "conv"

    def __init__(self, n_tags: int, units: int = 50, window: int = 3, nonlinearity: str = "softplus") -> None:
        super().__init__()
        if window < 1 or window % 2 == 0:
            raise ConfigError(f"The window of a convolutional energy is odd, not {window}.")
        check_activation(nonlinearity)
        self.nonlinearity = nonlinearity
        self.reach = window - 1
        self.measure = nn.Conv1d(n_tags, units, window, padding=window // 2)
        self.weights = nn.Parameter(torch.empty(units).normal_(std=math.sqrt(2 / units)))

    def prepare(self, features: Tensor, mask: Tensor | None = None) -> Tensor | None:
        return tag_places(mask)

    def forward(self, prepared: Tensor | None, y: Tensor) -> Tensor:
        tags = squeezed(y, prepared)
        batch, samples, time, _ = tags.shape
        measured = self.measure(tags.flatten(0, 1).transpose(1, 2)).view(batch, samples, -1, time)
        scores = torch.einsum("bsut,u->bst", ACTIVATIONS[self.nonlinearity](measured), self.weights)
        return scores.sum(-1) if prepared is None else (scores * (prepared >= 0).unsqueeze(1)).sum(-1)
