"""Training images as they might have been taken: other views of the same scene, under another light.

    x'(p) = g x(A p) + s + t_c        y'(p) = y(A p)        A: mirrored, turned, scaled, shifted

Left and right are exchanged half of the time; turns are uniform within ``TURN`` radians, scales within a factor of ``SCALE`` (by
their logarithm), shifts within ``SHIFT`` of the sides. The gain is exp(N(0, ``GAIN``)); ``BRIGHTER`` and ``TINT`` are standard
deviations of what is added to all channels and to each, in those of the training images' pixels; images in colour are shown grey
with the probability ``GREY``. Pixels are interpolated, masks take the nearest class, and what a view shows from beyond the image
is not known: it counts nowhere.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from enstruct.data.images import Images
from enstruct.devices import moved
from enstruct.encoders.conv import channels_first, channels_last
from enstruct.randomness import generator
from enstruct.training.batches import Batch

TURN, SCALE, SHIFT = 0.2, 1.25, 1 / 8
GAIN, BRIGHTER, TINT, GREY = 0.15, 0.2, 0.12, 0.15


def shown(batch: Batch, X: Any) -> Batch:
    """A batch of rows X as training shows it: augmented where they are images that are ``varied``."""
    if not isinstance(X, Images) or not X.varied:
        return batch
    return augmented(batch, shifts=X.size == X.grids.shape[1:3])


def augmented(batch: Batch, shifts: bool = True) -> Batch:
    """The batch of images (batch, height, width, channels) and masks, each of its own view.

    Without ``shifts`` images stay in place, as crops do that are drawn at every place. Numbers are drawn on the processor, so
    that every device sees the same views.
    """
    n, height, width, channels = batch.x.shape
    where = F.affine_grid(
        moved(_views(n, height / width, shifts), batch.x.device, batch.x.dtype), [n, 1, height, width], align_corners=False
    )
    x = F.grid_sample(channels_first(batch.x), where, mode="bilinear", padding_mode="border", align_corners=False)
    y = F.grid_sample(channels_first(batch.y), where, mode="nearest", padding_mode="zeros", align_corners=False)
    gain, added, grey = (moved(light, x.device, x.dtype) for light in _lights(n, channels))
    x = grey * x.mean(1, keepdim=True) + (1 - grey) * x
    y = channels_last(y).contiguous()
    return replace(batch, x=channels_last(gain * x + added).contiguous(), y=y, mask=(y.sum(-1, keepdim=True) > 0).to(y.dtype))


def _views(n: int, aspect: float, shifts: bool) -> Tensor:
    """(n, 2, 3): A in coordinates of [-1, 1] along both sides, as ``affine_grid`` takes it; ``aspect``: height over width."""
    draw = generator("cpu")
    mirror = 1.0 - 2.0 * (torch.rand(n, generator=draw) < 0.5)
    turn, scale, right, down = (2 * torch.rand(4, n, generator=draw) - 1).unbind()
    turn, scale = TURN * turn, torch.exp(math.log(SCALE) * scale)
    cosine, sine = scale * torch.cos(turn), scale * torch.sin(turn)
    share = 2 * SHIFT if shifts else 0.0  # of a side that is two long
    first = torch.stack([mirror * cosine, -sine * aspect, share * right], dim=1)
    return torch.stack([first, torch.stack([mirror * sine / aspect, cosine, share * down], dim=1)], dim=1)


def _lights(n: int, channels: int) -> tuple[Tensor, Tensor, Tensor]:
    """Gain (n, 1, 1, 1), what is added (n, channels, 1, 1), and whether an image is grey (n, 1, 1, 1)."""
    draw = generator("cpu")
    gain = torch.exp(GAIN * torch.randn(n, 1, 1, 1, generator=draw))
    added = BRIGHTER * torch.randn(n, 1, 1, 1, generator=draw) + TINT * torch.randn(n, channels, 1, 1, generator=draw)
    return gain, added, (torch.rand(n, 1, 1, 1, generator=draw) < GREY).float()
