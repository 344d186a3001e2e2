"""U-Net: images (batch, height, width, channels) -> features (batch, height, width, out_features) (Ronneberger et al. 2015).

    down:  h_i = block(h_{i-1}, halved)          i = 1 .. levels, each twice as wide
    up:    u_i = block([h_i, up(u_{i+1})])       block = two 3x3 convolutions, each normalised by groups of channels

Halving is a convolution with stride 2 and ``up`` bilinear, so any size of image goes through. There is no normalisation over a
batch, which bilevel training would have to hold still.
"""

from __future__ import annotations

from itertools import pairwise
from math import gcd

import torch
from torch import Tensor, nn

from enstruct.encoders.activations import ACTIVATIONS, check_activation
from enstruct.encoders.conv import channels_first, channels_last, resized
from enstruct.randomness import Dropout

GROUPS, GROUP = 8, 4
"""So many groups at most, of so many channels at least."""


class UNet(nn.Module):
    """``width`` channels at full size and out; ``levels`` halvings."""

    def __init__(self, channels: int, width: int = 16, levels: int = 2, nonlinearity: str = "relu", dropout: float = 0.0) -> None:
        super().__init__()
        check_activation(nonlinearity)
        self.out_features = width
        widths = [width * 2**i for i in range(levels + 1)]
        self.first = Block(channels, width, nonlinearity)
        self.down = nn.ModuleList(Block(a, b, nonlinearity, stride=2) for a, b in pairwise(widths))
        self.up = nn.ModuleList(Block(a + b, a, nonlinearity) for a, b in pairwise(widths))
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        scales = [self.first(channels_first(x))]
        for block in self.down:
            scales.append(block(scales[-1]))
        h = scales.pop()
        for block, beside in zip(reversed(self.up), reversed(scales), strict=True):
            h = block(torch.cat([beside, resized(h, beside.shape[2:])], dim=1))
        return channels_last(self.dropout(h))


class Block(nn.Module):
    def __init__(self, before: int, after: int, nonlinearity: str, stride: int = 1) -> None:
        super().__init__()
        self.nonlinearity = nonlinearity
        self.first = nn.Conv2d(before, after, 3, stride=stride, padding=1)
        self.second = nn.Conv2d(after, after, 3, padding=1)
        groups = gcd(after, max(1, min(GROUPS, after // GROUP)))
        self.norms = nn.ModuleList(nn.GroupNorm(groups, after) for _ in range(2))

    def forward(self, h: Tensor) -> Tensor:
        g = ACTIVATIONS[self.nonlinearity]
        for convolution, norm in zip((self.first, self.second), self.norms, strict=True):
            h = g(norm(convolution(h)))
        return h
