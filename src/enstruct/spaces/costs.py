"""Task costs of a relaxed label set y in [0,1]^L against a true one t in {0,1}^L, with their gradients in y.

    soft-f1        1 - 2 sum_l y_l t_l / (sum_l y_l + sum_l t_l)           (DVN, Gygli et al. 2017; 0 if both are empty)
    hamming-sum    sum_l y_l (1 - t_l) + (1 - y_l) t_l                     hamming-mean: divided by the number of labels
    squared        sum_l (y_l - t_l)^2                                     (SPEN's loss-augmented inference)
    log            -sum_l t_l log y_l + (1 - t_l) log(1 - y_l)             (the same with log loss; y clipped inwards by EPS)

Shapes: y (batch, samples, labels) or :class:`LabelVectors`, t (batch, labels); costs (batch, samples). The gradients
are closed forms, which rely on t being binary; so loss-augmented inference needs no automatic differentiation. For binary t
the products are min(y_l, t_l) and |y_l - t_l| in [0,1], but smooth: these have no derivative where discrete samples are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from enstruct.spaces.label_vectors import Labels, LabelVectors, dense, inner, sizes

EPS = 1e-6


def soft_f1(y: Labels, truth: Tensor) -> Tensor:
    """(batch, samples) F1 of relaxed label vectors. Two empty vectors agree: 1."""
    shared = inner(y, truth) if isinstance(y, LabelVectors) else (y * truth.unsqueeze(1)).sum(-1)
    total = sizes(y) + truth.sum(-1, keepdim=True)
    return torch.where(total > 0, 2 * shared / total.clamp(min=1e-12), torch.ones_like(shared))


def _soft_f1_cost(y: Labels, truth: Tensor) -> Tensor:
    return 1 - soft_f1(y, truth)


def _soft_f1_gradient(y: Tensor, truth: Tensor) -> Tensor:
    t = truth.unsqueeze(1)
    shared = (y * t).sum(-1, keepdim=True)
    total = (y.sum(-1, keepdim=True) + t.sum(-1, keepdim=True)).clamp(min=1e-12)
    return 2 * (shared - t * total) / total.square()


def _hamming(y: Labels, truth: Tensor) -> Tensor:
    if isinstance(y, LabelVectors):
        return y.sizes + truth.sum(-1, keepdim=True) - 2 * inner(y, truth)
    return torch.where(truth.unsqueeze(1) > 0, 1 - y, y).sum(-1)


def _hamming_gradient(y: Tensor, truth: Tensor) -> Tensor:
    return (1 - 2 * truth.unsqueeze(1)).expand_as(y)


def _squared(y: Labels, truth: Tensor) -> Tensor:
    if isinstance(y, LabelVectors):
        return _hamming(y, truth)  # binary differences are their own squares
    return (y - truth.unsqueeze(1)).square().sum(-1)


def _squared_gradient(y: Tensor, truth: Tensor) -> Tensor:
    return 2 * (y - truth.unsqueeze(1))


def _log(y: Labels, truth: Tensor) -> Tensor:
    inside, t = dense(y, truth.dtype).clamp(EPS, 1 - EPS), truth.unsqueeze(1)
    return -(t * inside.log() + (1 - t) * (-inside).log1p()).sum(-1)


def _log_gradient(y: Tensor, truth: Tensor) -> Tensor:
    inside = y.clamp(EPS, 1 - EPS)
    return (inside - truth.unsqueeze(1)) / (inside * (1 - inside)) * (y == inside)


@dataclass(frozen=True)
class Cost:
    value: Callable[[Labels, Tensor], Tensor]
    gradient: Callable[[Tensor, Tensor], Tensor]
    averaged: bool = False  # divided by the number of existing labels


COSTS: dict[str, Cost] = {
    "soft-f1": Cost(_soft_f1_cost, _soft_f1_gradient),
    "hamming-mean": Cost(_hamming, _hamming_gradient, averaged=True),
    "hamming-sum": Cost(_hamming, _hamming_gradient),
    "squared": Cost(_squared, _squared_gradient),
    "log": Cost(_log, _log_gradient),
}
