"""Task costs of a relaxed label set y in [0,1]^L against a true one t in {0,1}^L, with their gradients in y.

    soft-f1        1 - 2 sum_l y_l t_l / (sum_l y_l + sum_l t_l)           (DVN, Gygli et al. 2017; 0 if both are empty)
    hamming-sum    sum_l y_l (1 - t_l) + (1 - y_l) t_l                     hamming-mean: divided by the number of labels
    squared        sum_l (y_l - t_l)^2                                     (SPEN's loss-augmented inference)
    log            -sum_l t_l log y_l + (1 - t_l) log(1 - y_l)             (the same with log loss; y clipped inwards by EPS)

Shapes: y (batch, samples, labels) or :class:`LabelVectors`, t (batch, 1, labels); costs (batch, samples). The gradients
are closed forms, which rely on t being binary; so loss-augmented inference needs no automatic differentiation. For binary t
the products are min(y_l, t_l) and |y_l - t_l| in [0,1], but smooth: these have no derivative where discrete samples are.
"""

from __future__ import annotations

import torch
from torch import Tensor

from enstruct.spaces.base import Cost
from enstruct.spaces.label_vectors import Labels, LabelVectors, dense, inner

EPS = 1e-6


def _soft_f1_cost(y: Labels, t: Tensor) -> Tensor:
    shared = inner(y, t.squeeze(1)) if isinstance(y, LabelVectors) else (y * t).sum(-1)
    total = (y.sizes if isinstance(y, LabelVectors) else y.sum(-1)) + t.sum(-1)
    return 1 - torch.where(total > 0, 2 * shared / total.clamp(min=1e-12), torch.ones_like(shared))


def _soft_f1_gradient(y: Tensor, t: Tensor) -> Tensor:
    shared = (y * t).sum(-1, keepdim=True)
    total = (y.sum(-1, keepdim=True) + t.sum(-1, keepdim=True)).clamp(min=1e-12)
    return 2 * (shared - t * total) / total.square()


def _hamming(y: Labels, t: Tensor) -> Tensor:
    if isinstance(y, LabelVectors):
        return y.sizes + t.sum(-1) - 2 * inner(y, t.squeeze(1))
    return torch.where(t > 0, 1 - y, y).sum(-1)


def _hamming_gradient(y: Tensor, t: Tensor) -> Tensor:
    return (1 - 2 * t).expand_as(y)


def _squared(y: Labels, t: Tensor) -> Tensor:
    if isinstance(y, LabelVectors):
        return _hamming(y, t)  # binary differences are their own squares
    return (y - t).square().sum(-1)


def squared_gradient(y: Tensor, t: Tensor) -> Tensor:
    return 2 * (y - t)


def _log(y: Labels, t: Tensor) -> Tensor:
    inside = dense(y, t.dtype).clamp(EPS, 1 - EPS)
    return -(t * inside.log() + (1 - t) * (-inside).log1p()).sum(-1)


def _log_gradient(y: Tensor, t: Tensor) -> Tensor:
    inside = y.clamp(EPS, 1 - EPS)
    return (inside - t) / (inside * (1 - inside)) * (y == inside)


COSTS: dict[str, Cost] = {
    "soft-f1": Cost(_soft_f1_cost, _soft_f1_gradient),
    "hamming-mean": Cost(_hamming, _hamming_gradient, averaged=True),
    "hamming-sum": Cost(_hamming, _hamming_gradient),
    "squared": Cost(_squared, squared_gradient),
    "log": Cost(_log, _log_gradient),
}
