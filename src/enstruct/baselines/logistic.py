"""Logistic regressions of many labels at once on dense rows, by Newton's method.

    minimise   sum_n s_nl log(1 + exp(-(2 y_nl - 1) z_nl)) + (|w_l|^2 + (b_l / SCALING)^2) / 2C,      z_nl = w_l . x_n + b_l

as liblinear has it. Labels' problems have nothing to do with one another, but all multiply by the same rows: one product of
matrices is a step of all of them, which is many times as fast as one label after another. Newton's equations are solved by
conjugate gradients with the Hessian's diagonal as preconditioner, no further than they deserve (Eisenstat & Walker 1996), and a
step is halved until the loss falls (Armijo).
"""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from enstruct.baselines.linear import Model

SCALING = 10.0
"""Of the constant feature that stands for the intercept: it is shrunk a hundred times less than weights are."""
TOLERANCE = 1e-5
"""Of the gradient's norm, in that at zero weights: a label is done there."""
MOST_STEPS, MOST_PRODUCTS, MOST_HALVINGS = 100, 200, 30
DOUBLE_CELLS = 2**26
"""Cells of X up to which numbers are doubles; beyond, singles, at half the memory."""
BLOCK = 2**22
"""Cells of X that are squared at a time."""


def fit_logistic(
    X: NDArray[np.floating], Y: NDArray[np.number], S: NDArray[np.floating], C: float, start: Model | None = None
) -> Model:
    """``X`` (rows, features), ``Y`` (rows, labels) of 0 and 1, ``S`` (rows, labels) weights of its cells. ``start``: a model of
    another C, to begin at."""
    kind, own = (torch.float64, np.float64) if X.size <= DOUBLE_CELLS else (torch.float32, np.float32)
    rows = torch.from_numpy(np.column_stack([X.astype(own, copy=False), np.full(len(X), SCALING, dtype=own)]))
    y, s = (torch.as_tensor(part, dtype=kind) for part in (Y, S))
    W = rows.new_zeros(rows.shape[1], y.shape[1])
    if start is not None:
        W[:-1], W[-1] = torch.as_tensor(start[0].T, dtype=kind), torch.as_tensor(start[1] / SCALING, dtype=kind)
    weights = _minimise(rows, y, s, 1 / C, W).double().numpy()
    return np.ascontiguousarray(weights[:-1].T), SCALING * weights[-1]


@torch.no_grad()
def _minimise(X: Tensor, Y: Tensor, S: Tensor, shrinkage: float, W: Tensor) -> Tensor:
    """W (features, labels), changed to the minimum."""
    first = (X.T @ (S * (0.5 - Y))).norm(dim=0)
    tolerance = TOLERANCE if X.dtype == torch.float64 else 10 * TOLERANCE
    left = torch.arange(Y.shape[1])
    for _ in range(MOST_STEPS):
        w, y, s = W[:, left], Y[:, left], S[:, left]
        z = X @ w
        p = torch.sigmoid(z)
        gradient = X.T @ (s * (p - y)) + shrinkage * w
        size = gradient.norm(dim=0) / first[left].clamp(min=1e-30)
        step = _solve(X, s * p * (1 - p), shrinkage, -gradient, torch.clamp(size.sqrt(), max=0.1))
        length = _lengths(z, X @ step, w, step, y, s, shrinkage, (gradient * step).sum(0))
        W[:, left] = w + length * step
        left = left[(size > tolerance) & (length > 0)]  # quadratic convergence: the step after the last one cost little and helps
        if not len(left):
            break
    return W


def _solve(X: Tensor, D: Tensor, shrinkage: float, target: Tensor, tolerance: Tensor) -> Tensor:
    """(X' D_l X + shrinkage) v_l = target_l for every label, to a residual of so much of the target's norm."""

    def product(v: Tensor, d: Tensor) -> Tensor:
        return X.T @ (d * (X @ v)) + shrinkage * v

    diagonal = _squares(X, D) + shrinkage
    out, residual = torch.zeros_like(target), target.clone()
    wanted, open_ = tolerance * target.norm(dim=0), torch.arange(target.shape[1])
    scaled = residual / diagonal
    direction, along = scaled.clone(), (residual * scaled).sum(0)
    for _ in range(min(MOST_PRODUCTS, X.shape[1])):
        ahead = product(direction, D[:, open_])
        length = along / (direction * ahead).sum(0).clamp(min=1e-30)
        out[:, open_] += length * direction
        residual = residual - length * ahead
        going = residual.norm(dim=0) > wanted[open_]
        if not going.any():
            break
        open_, residual, direction, along = open_[going], residual[:, going], direction[:, going], along[going]
        scaled = residual / diagonal[:, open_]
        next_along = (residual * scaled).sum(0)
        direction = scaled + next_along / along.clamp(min=1e-30) * direction
        along = next_along
    return out


def _squares(X: Tensor, D: Tensor) -> Tensor:
    """(features, labels) sum_n x_nf^2 d_nl."""
    size = max(1, BLOCK // X.shape[1])
    parts: list[Tensor] = [x.square().T @ d for x, d in zip(X.split(size), D.split(size), strict=True)]
    return torch.stack(parts).sum(0)


def _lengths(z: Tensor, ahead: Tensor, w: Tensor, step: Tensor, y: Tensor, s: Tensor, shrinkage: float, slope: Tensor) -> Tensor:
    """(labels,) how much of each step is gone: the largest of 1, 1/2, ... whose loss falls by enough, 0 where none does."""
    sign = 1 - 2 * y

    def loss(t: Tensor) -> Tensor:
        return (s * F.softplus(sign * (z + t * ahead))).sum(0) + shrinkage / 2 * (w + t * step).square().sum(0)

    length = torch.ones_like(slope)
    now = loss(torch.zeros_like(slope))
    for _ in range(MOST_HALVINGS):
        fails = loss(length) > now + 1e-4 * length * slope
        if not fails.any():
            return length
        length = torch.where(fails, length / 2, length)
    return torch.where(fails, torch.zeros_like(length), length)
