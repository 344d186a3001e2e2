"""Masks: one of K classes at every pixel (:mod:`enstruct.spaces.simplex`, the places being rows and columns).

    y (batch, samples, height, width, classes)    truth (batch, height, width, classes)    mask (batch, height, width, 1)

The mask is 0 where the truth is not known (ignored pixels). Costs of relaxed y against a true t, beside those of the simplex:

    soft-iou    1 - mean_k  I_k / U_k         I_k = sum_p min(y_pk, t_pk),  U_k = sum_p max(y_pk, t_pk)        (DVN, SEAL)

With two classes the mean is that of the second, the object's; with more it is over the classes that the truth has. A class that
neither has counts as 1, so that an empty mask agrees with an empty one and no value is ever 0/0.

Perturbed samples (SEAL's regression-s) are perturbed in patches, see :meth:`MaskSpace.noise`.

The supervised loss is averaged over pixels, as the published horse systems have it: an energy is one number an image, and beside
a sum over thousands of pixels its weight would say nothing. Log-probabilities stay sums.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from enstruct.randomness import drawn_like
from enstruct.spaces.base import Cost
from enstruct.spaces.simplex import COSTS, SimplexSpace


def _overlap(y: Tensor, t: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """(I, U, weight), each (batch, samples or 1, classes that count); the weights of a row sum to 1. t is binary."""
    first = 1 if t.shape[-1] == 2 else 0
    y, t = y[..., first:].flatten(2, -2), t[..., first:].flatten(2, -2)  # (batch, samples, pixels, classes)
    shared, there = (y * t).sum(2), t.sum(2)
    union = y.sum(2) + there - shared
    counted = torch.ones_like(there) if first else (there > 0).to(y.dtype)
    return shared, union, counted / counted.sum(-1, keepdim=True).clamp(min=1)


def _iou_cost(y: Tensor, t: Tensor) -> Tensor:
    shared, union, weight = _overlap(y, t)
    missing = torch.where(union > 0, 1 - shared / union.clamp(min=1e-12), torch.zeros_like(union))
    return (missing * weight).sum(-1)


def _iou_gradient(y: Tensor, t: Tensor) -> Tensor:
    """-(t U - (1 - t) I) / U^2, since dI/dy = t and dU/dy = 1 - t."""
    shared, union, weight = _overlap(y, t)
    shape = (*union.shape[:2], *[1] * (y.dim() - 3), union.shape[-1])
    shared, union, weight = shared.view(shape), union.view(shape).clamp(min=1e-12), weight.expand(union.shape).reshape(shape)
    first = 1 if t.shape[-1] == 2 else 0
    inside = t[..., first:]
    slope = weight * ((1 - inside) * shared - inside * union) / union.square()
    return torch.cat([torch.zeros_like(y[..., :1]), slope], dim=-1) if first else slope.expand_as(y)


MASK_COSTS: dict[str, Cost] = {**COSTS, "soft-iou": Cost(_iou_cost, _iou_gradient)}

NOISE_CELLS = 6
"""Rows and columns of independent noise that an image is covered by."""


class MaskSpace(SimplexSpace):
    """K classes a pixel."""

    costs: ClassVar[Mapping[str, Cost]] = MASK_COSTS
    outputs: ClassVar[str] = "masks"

    def supervised_loss(self, logits: Tensor, truth: Tensor, mask: Tensor | None = None) -> Tensor:
        """Cross-entropy averaged over known pixels: logits, truth (batch, height, width, classes) -> (batch,)."""
        known = truth.flatten(1).sum(1) if mask is None else (truth * mask).flatten(1).sum(1)
        return super().supervised_loss(logits, truth, mask) / known.clamp(min=1)

    def blank(self, batch: int, samples: int, like: Tensor, parts: tuple[int, ...]) -> Tensor:
        """The first class everywhere: an image of nothing but background."""
        y = torch.zeros((batch, samples, *parts, self.n_classes), dtype=like.dtype, device=like.device)
        y[..., 0] = 1
        return y

    def noise(self, logits: Tensor, n: int) -> Tensor:
        """(batch, n, height, width, classes): normal on ``NOISE_CELLS`` squared cells, interpolated between them.

        Independent noise at every pixel leaves the overlap with the truth the same in every sample, and an energy nothing to
        learn from; noise in patches grows and eats away parts of the object.
        """
        height, width, classes = logits.shape[1:]
        cells = torch.randn(len(logits) * n, classes, NOISE_CELLS, NOISE_CELLS, **drawn_like(logits))
        full = F.interpolate(cells, size=(height, width), mode="bilinear", align_corners=False)
        return full.movedim(1, -1).reshape(len(logits), n, height, width, classes)
