"""Decision rules in a graph: marginals p (rows, labels) -> label sets (rows, labels), bool.

Expected F1 (:mod:`enstruct.decisions.expected_f1`) goes without its recursion here: with E[1/(j + N)] the integral of
t^(j-1) E[t^N] over [0, 1], the sums over numbers of successes become products,

    E[F1_k] = 2 int_0^1 t^k F(t) S_k(t) dt,    F(t) = prod_i (1 - p_i + p_i t) exp(-tail (1 - t)),
                                               S_k(t) = sum_{i <= k} p_i / (1 - p_i + p_i t)

a polynomial in t of degree below 2 L but for the tail's exponential, so that Gauss and Legendre's rule on L points is exact. With
64 points it is to 1e-12 up to ``HEAD`` labels (tests).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from enstruct.decisions.expected_f1 import HEAD, ExpectedF1
from enstruct.decisions.thresholds import FixedThreshold, PerLabelThresholds, ScaledThreshold, TopK
from enstruct.errors import ConfigError

POINTS = 64
CLIP = 1e-7


def decision_graph(name: str, rule: Any) -> nn.Module:
    """Of a fitted rule. ConfigError for one that asks the energy."""
    if isinstance(rule, FixedThreshold):
        return Thresholds(rule.threshold)
    if isinstance(rule, (ScaledThreshold, PerLabelThresholds)):
        return Thresholds(rule.thresholds)
    if isinstance(rule, TopK):
        return MostProbable(rule.k)
    if isinstance(rule, ExpectedF1):
        return LargestExpectedF1(rule)
    raise ConfigError(
        f"The rule {name!r} draws samples and weighs them by the energy, which is no fixed graph: export with another "
        "(decision='expected-f1', 'threshold', ...)."
    )


class Thresholds(nn.Module):
    thresholds: Tensor

    def __init__(self, thresholds: Any) -> None:
        super().__init__()
        self.register_buffer("thresholds", torch.as_tensor(np.asarray(thresholds, dtype=np.float64)))

    def forward(self, p: Tensor) -> Tensor:
        return p.double() >= self.thresholds


class MostProbable(nn.Module):
    def __init__(self, k: int) -> None:
        super().__init__()
        self.k = k

    def forward(self, p: Tensor) -> Tensor:
        best = torch.topk(p, min(self.k, p.shape[1]), dim=1).indices
        return torch.zeros_like(p, dtype=torch.bool).scatter(1, best, torch.ones_like(best, dtype=torch.bool))


class LargestExpectedF1(nn.Module):
    def __init__(self, rule: ExpectedF1) -> None:
        super().__init__()
        self.sharpness, self.shift, self.allow_empty = rule.sharpness, rule.shift, rule.allow_empty

    def forward(self, p: Tensor) -> Tensor:
        if (self.sharpness, self.shift) != (1.0, 0.0):
            q = p.clamp(CLIP, 1 - CLIP)
            p = torch.sigmoid(self.sharpness * (q.log() - torch.log1p(-q)) + self.shift)
        ranked, order = torch.topk(p, min(p.shape[1], HEAD), dim=1)
        tail = (p.sum(1) - ranked.sum(1)).clamp(min=0).double()
        sizes = expected_f1(ranked.double(), tail)
        if not self.allow_empty:
            sizes = sizes[:, 1:]
        size = sizes.argmax(1, keepdim=True) + (0 if self.allow_empty else 1)
        taken = torch.arange(order.shape[1]).unsqueeze(0) < size
        return torch.zeros_like(p, dtype=torch.bool).scatter(1, order, taken)


def expected_f1(p: Tensor, tail: Tensor) -> Tensor:
    """(rows, T + 1) E[F1] of the k most probable labels, k = 0..T; p (rows, T) sorted, ``tail`` (rows,) others' sum."""
    T = p.shape[1]
    points, weights = np.polynomial.legendre.leggauss(min(T, POINTS))
    t, weight = torch.from_numpy((points + 1) / 2), torch.from_numpy(weights)  # 2 times the weights of [0, 1]
    below = p.unsqueeze(2) * (1 - t)  # (rows, T, points)
    sums = (p.unsqueeze(2) / (1 - below)).cumsum(1)
    log_product = torch.log1p(-below).sum(1, keepdim=True) - tail.view(-1, 1, 1) * (1 - t)
    powers = torch.arange(1, T + 1, dtype=torch.float64).unsqueeze(1) * t.log()
    empty = torch.exp(torch.log1p(-p.clamp(max=1 - 1e-12)).sum(1) - tail)
    return torch.cat([empty.unsqueeze(1), (sums * (log_product + powers).exp() * weight).sum(2)], dim=1)
