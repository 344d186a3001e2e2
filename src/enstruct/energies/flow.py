r"""A conditional flow over masks: an energy whose exp(-E) sums to one by construction (cGLOW; Lu & Huang 2020).

    E(x, y) = -log p(v | x),    v = y + u - 1,  u uniform on [0, 1) in training, 1/2 else         (batch, channels, height, width)
    log p(v | x) = log N(z) + log |det dz/dv|,      z = f_x(v) invertible

of all classes but the first, a channel each, "on" where v >= 0. With u drawn anew each time the mean of E is an upper bound of
-log P(y | x), u being the noise that makes pixels of two values continuous. f_x is a Glow (Kingma & Dhariwal 2018) of ``LEVELS``
levels. Each halves height and width for four times as many channels, takes ``STEPS`` steps, and gives half of the channels out
as part of z. A step is

    v <- exp(s) v + t                    s, t of each channel, from the mean of the image's features
    v <- W v                             at every pixel, W (channels, channels)
    v = [a, b],  b <- exp(s') b + t'     s', t' from a and the features around, by three convolutions

An image whose sides are no multiples is continued by background. Pixels whose class is not known count as background. There is
no closed-form gradient. Of the paper's choices that are left out here W does not depend on the image.
"""

from __future__ import annotations

from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from enstruct.encoders.conv import channels_first, channels_last
from enstruct.energies.base import Term
from enstruct.randomness import drawn_like, generator

LEVELS, STEPS = 2, 4
STEEPEST = 2.0
"""A scale lies within exp(±STEEPEST), so that no layer can blow up."""


class FlowEnergy(Term):
    name = "flow"
    normalised = True

    def __init__(self, n_features: int, n_classes: int, units: int = 32) -> None:
        super().__init__()
        channels, self.levels = n_classes - 1, nn.ModuleList()
        for _ in range(LEVELS):
            channels *= 4
            self.levels.append(nn.ModuleList(_Step(channels, n_features, units) for _ in range(STEPS)))
            channels //= 2

    def prepare(self, features: Tensor, mask: Tensor | None = None) -> Tensor:
        return features  # (batch, height, width, width of features)

    def forward(self, prepared: Tensor, y: Tensor) -> Tensor:
        batch, samples = len(prepared), y.shape[1]
        y = _continued(channels_first(y.expand(batch, *y.shape[1:])[..., 1:].flatten(0, 1)))
        noise = torch.rand(y.shape, **drawn_like(y)) if self.training else 0.5  # beyond the edge too
        v = y + noise - 1
        scales = [scale.repeat_interleave(samples, 0) for scale in self._scales(prepared)]
        log_density = v.new_zeros(len(v))
        for level, seen in zip(self.levels, scales, strict=True):
            v = F.pixel_unshuffle(v, 2)
            for step in cast(nn.ModuleList, level):
                v, log_det = cast(_Step, step)(v, seen)
                log_density = log_density + log_det
            v, out = v.chunk(2, 1)
            log_density = log_density + _log_normal(out)
        return -(log_density + _log_normal(v)).view(batch, samples)

    def draw(self, prepared: Tensor, n: int) -> Tensor:
        """(batch, n, height, width, classes) masks, one class a pixel: f_x^-1 of normal z, the same n for every image.

        Numbers are drawn on the processor, so that every device answers alike.
        """
        scales = [scale.repeat_interleave(n, 0) for scale in self._scales(prepared)]
        batch, v = len(prepared), scales[-1][:, :0]  # no channel yet
        for level, seen in zip(reversed(self.levels), reversed(scales), strict=True):
            steps = cast(list[_Step], list(cast(nn.ModuleList, level)))
            shape = n, steps[0].channels - v.shape[1], *seen.shape[2:]
            missing = torch.randn(shape, dtype=seen.dtype, generator=generator("cpu")).to(seen.device)
            v = torch.cat([v, missing.repeat(batch, 1, 1, 1)], 1)
            for step in reversed(steps):
                v = step.back(v, seen)
            v = F.pixel_shuffle(v, 2)
        height, width = prepared.shape[1:3]
        logits = channels_last(F.pad(v, (0, 0, 0, 0, 1, 0)))[:, :height, :width]  # the first class stands at 0
        masks = F.one_hot(logits.argmax(-1), logits.shape[-1]).to(v.dtype)
        return masks.view(batch, n, *masks.shape[1:])

    def _scales(self, features: Tensor) -> list[Tensor]:
        """The features at every level's size, (batch, width of features, height, width)."""
        seen, scales = _continued(channels_first(features)), []
        for _ in range(LEVELS):
            seen = F.avg_pool2d(seen, 2)
            scales.append(seen)
        return scales


class _Step(nn.Module):
    def __init__(self, channels: int, n_features: int, units: int) -> None:
        super().__init__()
        self.channels, half = channels, channels // 2
        self.normalise = nn.Linear(n_features, 2 * channels)
        self.mix = nn.Parameter(nn.init.orthogonal_(torch.empty(channels, channels)))
        self.couple = nn.Sequential(
            nn.Conv2d(half + n_features, units, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(units, units, 1),
            nn.ReLU(),
            nn.Conv2d(units, 2 * (channels - half), 3, padding=1),
        )
        for last in (self.normalise, self.couple[-1]):  # it begins as a rotation
            nn.init.zeros_(cast(Tensor, last.weight))
            nn.init.zeros_(cast(Tensor, last.bias))

    def forward(self, v: Tensor, seen: Tensor) -> tuple[Tensor, Tensor]:
        """The new v, and (batch,) the logarithm of its volume's growth."""
        s, t = self._of_image(seen)
        v = s.exp() * v + t
        pixels = v.shape[2] * v.shape[3]
        log_det = pixels * (s.flatten(1).sum(1) + torch.linalg.slogdet(self.mix).logabsdet)
        v = torch.einsum("ij,bjhw->bihw", self.mix, v)
        a, b = self._halves(v)
        s, t = self._of_half(a, seen)
        return torch.cat([a, s.exp() * b + t], 1), log_det + s.flatten(1).sum(1)

    def back(self, v: Tensor, seen: Tensor) -> Tensor:
        """The v that :meth:`forward` makes this of."""
        a, b = self._halves(v)
        s, t = self._of_half(a, seen)
        v = torch.cat([a, (b - t) * (-s).exp()], 1)
        v = torch.einsum("ij,bjhw->bihw", torch.linalg.inv(self.mix), v)
        s, t = self._of_image(seen)
        return (v - t) * (-s).exp()

    def _halves(self, v: Tensor) -> tuple[Tensor, Tensor]:
        half = self.channels // 2
        return v[:, :half], v[:, half:]

    def _of_image(self, seen: Tensor) -> tuple[Tensor, Tensor]:
        s, t = self.normalise(seen.mean((2, 3)))[:, :, None, None].chunk(2, 1)
        return _bounded(s), t

    def _of_half(self, a: Tensor, seen: Tensor) -> tuple[Tensor, Tensor]:
        s, t = self.couple(torch.cat([a, seen], 1)).chunk(2, 1)
        return _bounded(s), t


def _bounded(s: Tensor) -> Tensor:
    return STEEPEST * torch.tanh(s / STEEPEST)


def _log_normal(z: Tensor) -> Tensor:
    """(batch,)."""
    return torch.distributions.Normal(0.0, 1.0).log_prob(z).flatten(1).sum(1)


def _continued(v: Tensor) -> Tensor:
    """To sides that can be halved ``LEVELS`` times, by zeros below and to the right."""
    unit = 2**LEVELS
    down, right = (-side % unit for side in v.shape[2:])
    return F.pad(v, (0, right, 0, down)) if down or right else v
