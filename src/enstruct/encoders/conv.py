"""Fully convolutional encoder: images (batch, height, width, channels) -> features (batch, height, width, out_features).

    a = g(conv5(x))        b = g(conv5(a), stride 2)        c = g(conv5(b), stride 2)
    features = dropout(a' + up(b') + up(c'))               ' = 1x1 convolution to out_features, up = bilinear, to the size of x

Three scales and no fully connected layer, so images may have any size (the shape of DVN's and SEAL's networks for horses, Gygli
et al. 2017, with interpolation in the place of their transposed convolutions). There is no normalisation over a batch, which
bilevel training would have to hold still.
"""

from __future__ import annotations

from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from enstruct.encoders.activations import ACTIVATIONS, check_activation
from enstruct.randomness import Dropout


def channels_first(x: Tensor) -> Tensor:
    """(batch, height, width, channels) as torch's convolutions take it; the memory stays where it is."""
    return x.movedim(-1, 1)


def channels_last(x: Tensor) -> Tensor:
    return x.movedim(1, -1)


class FCN(nn.Module):
    """``width`` channels at full size, twice as many at the two smaller ones."""

    def __init__(
        self, channels: int, width: int = 32, out_features: int = 32, nonlinearity: str = "relu", dropout: float = 0.0
    ) -> None:
        super().__init__()
        check_activation(nonlinearity)
        self.nonlinearity, self.out_features = nonlinearity, out_features
        widths = [channels, width, 2 * width, 2 * width]
        self.scales = nn.ModuleList(
            nn.Conv2d(before, after, 5, stride=1 if i == 0 else 2, padding=2)
            for i, (before, after) in enumerate(pairwise(widths))
        )
        self.skips = nn.ModuleList(nn.Conv2d(after, out_features, 1) for after in widths[1:])
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        h, seen = channels_first(x), []
        for scale, skip in zip(self.scales, self.skips, strict=True):
            h = ACTIVATIONS[self.nonlinearity](scale(h))
            seen.append(resized(skip(h), x.shape[1:3]))
        return channels_last(self.dropout(ACTIVATIONS[self.nonlinearity](torch.stack(seen).sum(0))))


def resized(h: Tensor, size: tuple[int, ...]) -> Tensor:
    """(batch, channels, *size), bilinear."""
    return h if h.shape[2:] == size else F.interpolate(h, size=tuple(size), mode="bilinear", align_corners=False)
