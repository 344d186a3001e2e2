"""A residual energy: how labels hang together beyond what a base model's logits x say of each of them alone.

    E(x, y) = - sum_i y_i f_i(x)  -  1/2 r' W r  -  v . g(C r + D h + c)

    mu = (1 - w) sigma(x) + w pi         the base's marginals, smoothed towards the labels' frequencies pi; z = logit(mu)
    r = y - mu                           what a label set has beyond that expectation
    f_i = a_i z_i + b_i + (R h)_i        recalibrated logits; R ("stacked") lets other labels' logits count
    h = (x - mean) / std                 the base's standardised logits, those beyond what the rows that taught had taken to be
                                         at their bounds; D ("varying") lets units change with x
    g(u) = (u + sqrt(u^2 + 4)) / 2       squareplus (Barron 2021): softplus's shape at a fifth of its cost
    W                                    symmetric, zero diagonal; or A B' + B A' off the diagonal, A and B (labels, rank)

w ("smoothed", 0 otherwise) is one number, which is learned: bases of few rows, trees above all, say of rare labels that they are
next to impossible, and no coupling of a size that is fit for other rows can lift what stands at -9 in the logits.

At the start a = 1 and b, R, W, v, D are 0, so that exp(-E)/Z is the product of the marginals mu. Couplings act on r and not on y:
where y is at mu they add no field, so that marginals stay there, to first order, while nothing is told. Given all other labels,
the log-odds of label i are

    s_i = f_i + (W r^i0)_i + v . (g(u^i1) - g(u^i0)),     r^i0: r with y_i = 0;  u^i1, u^i0: C r + D h + c with y_i = 1, 0

all L of them at O(L (L + units)) a label set (:meth:`ResidualEnergy.flips`). y may be relaxed: a label at mu_i says nothing, as
if it were unknown.
"""

from __future__ import annotations

import math
from typing import cast

import torch
from torch import Tensor, nn

from enstruct.energies.base import State
from enstruct.spaces.label_vectors import Labels, dense

SMOOTHING = -1.0
"""Logit of w at the start."""


def squareplus(u: Tensor) -> Tensor:
    return 0.5 * (u + root(u))


def root(u: Tensor) -> Tensor:
    """sqrt(u^2 + 4), the part of 2 g(u) that is not linear: 2 [g(u + c) - g(u)] = c + root(u + c) - root(u)."""
    return torch.addcmul(u.new_full((), 4.0), u, u).sqrt()


class ResidualEnergy(nn.Module):
    """Energies (batch, samples) of label sets y (batch, samples, labels) beside base logits, which ``prepare`` takes as x.

    pairs : whether there is W, of factors of this ``rank`` or, 0, a full table; units : the number of hidden units, 0 for none.
    ``stacked``, ``varying`` and ``smoothed`` add R, D and w.
    """

    def __init__(
        self,
        n_labels: int,
        pairs: bool = True,
        units: int = 0,
        stacked: bool = False,
        varying: bool = False,
        rank: int = 0,
        smoothed: bool = False,
    ) -> None:
        super().__init__()
        self.smoothing = nn.Parameter(torch.tensor(SMOOTHING)) if smoothed else None
        self.register_buffer("frequency", torch.full((n_labels,), 0.5) if smoothed else None)
        self.frequency: Tensor | None
        self.slope = nn.Parameter(torch.ones(n_labels))
        self.bias = nn.Parameter(torch.zeros(n_labels))
        self.table = nn.Parameter(torch.zeros(n_labels, n_labels)) if pairs and not rank else None
        self.left = nn.Parameter(torch.randn(n_labels, rank) / math.sqrt(rank)) if pairs and rank else None
        self.right = nn.Parameter(torch.zeros(n_labels, rank)) if pairs and rank else None
        self.stack = nn.Parameter(torch.zeros(n_labels, n_labels)) if stacked else None
        self.matrix = nn.Parameter(torch.randn(n_labels, units) / math.sqrt(n_labels)) if units else None
        self.unit_bias = nn.Parameter(torch.zeros(units)) if units else None
        self.weights = nn.Parameter(torch.zeros(units)) if units else None
        self.vary = nn.Parameter(torch.zeros(n_labels, units)) if units and varying else None
        self.register_buffer("mean", torch.zeros(n_labels))
        self.register_buffer("std", torch.ones(n_labels))
        self.register_buffer("lowest", torch.full((n_labels,), -math.inf))
        self.register_buffer("highest", torch.full((n_labels,), math.inf))
        self.mean: Tensor
        self.std: Tensor
        self.lowest: Tensor
        self.highest: Tensor

    @property
    def n_labels(self) -> int:
        return len(self.slope)

    @property
    def coupled(self) -> bool:
        """Whether a label's log-odds may depend on other labels."""
        return self.pairs or self.matrix is not None

    @property
    def pairs(self) -> bool:
        return self.table is not None or self.left is not None

    def standardise_by(self, logits: Tensor) -> None:
        """Take mean, spread and bounds of h from the base's logits (rows, labels) of the training rows.

        Beyond the bounds nothing was learnt. A base that has seen no row with a rare label says of it what it says of no other,
        and where its logits hardly vary in training that is dozens of standard deviations away.
        """
        self.mean.copy_(logits.mean(0))
        self.std.copy_(logits.std(0, correction=0).clamp(min=1e-3))
        self.lowest.copy_(logits.amin(0))
        self.highest.copy_(logits.amax(0))

    def _standardised(self, x: Tensor) -> Tensor:
        """h of base logits x."""
        return (torch.minimum(torch.maximum(x, self.lowest), self.highest) - self.mean) / self.std

    def smooth_towards(self, frequency: Tensor) -> None:
        """Take pi (labels,), each above 0 and below 1. Of no effect on an energy that does not smooth."""
        if self.frequency is not None:
            self.frequency.copy_(frequency)

    def _smoothed(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """(z, mu) of base logits x. In doubles, and from both tails: z is x to its last digits where w is 0."""
        if self.smoothing is None or self.frequency is None:
            return x, torch.sigmoid(x)
        w, pi = torch.sigmoid(self.smoothing.double()), self.frequency.double()
        there, absent = torch.sigmoid(x.double()), torch.sigmoid(-x.double())
        there, absent = there + w * (pi - there), absent + w * (1 - pi - absent)
        return (there.log() - absent.log()).to(x.dtype), there.to(x.dtype)

    def couplings(self) -> Tensor | None:
        """W (labels, labels), symmetric with a zero diagonal; None without pairs."""
        half = self.table if self.left is None or self.right is None else self.left @ self.right.T
        if half is None:
            return None
        both = half + half.T
        return both - torch.diag(torch.diagonal(both))

    def pushes(self, residual: Tensor) -> Tensor | None:
        """r W (..., labels), which factors take O(labels rank) for; None without pairs."""
        if self.left is None or self.right is None:
            couplings = self.couplings()
            return None if couplings is None else residual @ couplings
        own = 2 * (self.left * self.right).sum(1)
        return (residual @ self.left) @ self.right.T + (residual @ self.right) @ self.left.T - residual * own

    def prepare(self, x: Tensor, mask: Tensor | None = None) -> State:
        """From base logits (batch, labels): f, mu and the units' offset D h + c."""
        z, mean = self._smoothed(x)
        field = self.slope * z + self.bias
        if self.stack is not None:
            field = field + self._standardised(x) @ self.stack.T
        offset = None
        if self.unit_bias is not None:
            offset = self.unit_bias.expand(x.shape[0], -1)
            if self.vary is not None:
                offset = offset + self._standardised(x) @ self.vary
        return State((field, mean, offset), mask, x.shape[0])

    def forward(self, state: State, y: Labels) -> Tensor:
        field, mean, offset = _terms(state)
        y = dense(y, field.dtype)
        residual = y - mean.unsqueeze(1)
        value = (y * field.unsqueeze(1)).sum(-1)
        pushed = self.pushes(residual)
        if pushed is not None:
            value = value + 0.5 * (pushed * residual).sum(-1)
        if self.matrix is not None and self.weights is not None:
            value = value + squareplus(residual @ self.matrix + offset.unsqueeze(1)) @ self.weights
        return -value  # (batch, samples)

    def flips(self, state: State, y: Tensor) -> Tensor:
        """(batch, labels): E with label i absent minus E with it, its log-odds given all others of y (batch, labels)."""
        field, mean, offset = _terms(state)
        residual, logits = y - mean, field
        pushed = self.pushes(residual)
        if pushed is not None:
            logits = logits + pushed
        if self.matrix is not None and self.weights is not None:
            absent = (residual @ self.matrix + offset).unsqueeze(1) - y.unsqueeze(2) * self.matrix  # (batch, labels, units)
            rise = root(absent + self.matrix) - root(absent)
            logits = logits + 0.5 * (rise @ self.weights + self.matrix @ self.weights)
        return logits


def _terms(state: State) -> tuple[Tensor, Tensor, Tensor]:
    """f, mu and the units' offset (None where there are no units: nobody asks for it then)."""
    return cast(tuple[Tensor, Tensor, Tensor], state.terms)
