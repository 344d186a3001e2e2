"""A Gaussian copula over a base's marginals (the multivariate probit with the base's margins kept).

    y_i = [e_i > -Phi^-1(p_i(x))],     e ~ N(0, R),     R the same for all x

R is estimated pair by pair on cross-fitted marginals, by the posterior of the two labels over a grid of correlations (Plackett's
identity gives the bivariate normal's rectangle: dPhi2(a, b, r)/dr = its density), or, of more than ``MOST_EXACT`` labels, by one
step of scoring from independence, sum g_i g_j / sum v_i v_j with g = E[e | y] and v = Var g. It is then shrunk towards the
identity by the share with the lowest log-loss on held-out rows, and its eigenvalues are kept positive.

Told labels truncate their e: p(y_i | x, told) is by Gibbs sampling of truncated normals, Rao-Blackwellised; log p(y | x) by the
simulator of Geweke, Hajivassiliou and Keane, which is unbiased for p.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from enstruct_bench.joint.sides import LogProbability
from enstruct_bench.joint.table import Array

CLIP = 1e-4
MOST_EXACT = 200
PRIOR = 0.3
"""The deviation of a normal prior on each correlation: pairs of rare labels, of which rows say little, stay near 0."""
CORRELATIONS = np.linspace(-0.98, 0.98, 99)
ROWS_A_PAIR = 1000
LEAST_EIGENVALUE = 1e-3
CHAINS, BURN_IN, SWEEPS, DRAWS = 8, 8, 24, 256
CELLS, CELLS_OF_CHAINS = 2**22, 2**19


def correlations(p: Array, Y: Array) -> NDArray[np.float64]:
    """(labels, labels) from cross-fitted marginals p (rows, labels); not yet shrunk."""
    u = ndtri(np.clip(np.asarray(p, dtype=np.float64), CLIP, 1 - CLIP))
    n_labels = u.shape[1]
    if n_labels > MOST_EXACT:
        density = np.exp(-u * u / 2) / np.sqrt(2 * np.pi)
        high, low = ndtr(u), ndtr(-u)
        g = np.where(Y > 0.5, density / high, -density / low)
        v = density**2 / (high * low)
        R = (g.T @ g) / (v.T @ v + PRIOR**-2)
        np.clip(R, -0.95, 0.95, out=R)
    else:
        rows = np.linspace(0, len(u) - 1, min(len(u), ROWS_A_PAIR)).astype(int) if n_labels > 40 else np.arange(len(u))
        R = np.eye(n_labels)
        for i in range(n_labels):
            for j in range(i):
                R[i, j] = R[j, i] = pair_correlation(u[rows, i], u[rows, j], Y[rows, i] > 0.5, Y[rows, j] > 0.5)
    np.fill_diagonal(R, 1.0)
    return R


def pair_correlation(a: Array, b: Array, first: Array, second: Array) -> float:
    """The most probable of ``CORRELATIONS`` for labels [e > -a], [e' > -b]; all (rows,)."""
    r = CORRELATIONS[:, None]
    density = np.exp(-(a * a - 2 * r * a * b + b * b) / (2 * (1 - r * r))) / (2 * np.pi * np.sqrt(1 - r * r))
    step = CORRELATIONS[1] - CORRELATIONS[0]
    steps = (density[1:] + density[:-1]) * step / 2
    gain = np.concatenate([np.zeros((1, len(a))), steps.cumsum(0)])
    gain -= gain[len(CORRELATIONS) // 2]  # the integral from 0
    sign = np.where(first == second, 1.0, -1.0)
    independent = np.where(first, ndtr(a), ndtr(-a)) * np.where(second, ndtr(b), ndtr(-b))
    likelihood = np.log(np.maximum(independent + sign * gain, 1e-12)).sum(1)
    return float(CORRELATIONS[int((likelihood - (CORRELATIONS / PRIOR) ** 2 / 2).argmax())])


def shrunk(R: Array, share: float) -> NDArray[np.float64]:
    """``share`` of the way to the identity, positive definite with a diagonal of ones."""
    values, vectors = np.linalg.eigh((1 - share) * R + share * np.eye(len(R)))
    positive = (vectors * np.maximum(values, LEAST_EIGENVALUE)) @ vectors.T
    scale = np.sqrt(np.diag(positive))
    return np.asarray(positive / scale / scale[:, None])


@dataclass(frozen=True)
class Copula:
    """``R`` (labels, labels), positive definite."""

    R: NDArray[np.float64]

    def conditionals(self, p: Array, known: Array, seed: int = 0, sweeps: int = SWEEPS, chains: int = CHAINS) -> Array:
        """(rows, labels) p(y_i = 1 | x, told) from marginals p; of rows of which nothing is told p itself."""
        out = np.array(p, dtype=np.float64)
        rows = np.flatnonzero((~np.isnan(known)).any(1))
        precision = np.linalg.inv(self.R)
        size = max(1, CELLS_OF_CHAINS // (chains * p.shape[1]))
        for first in range(0, len(rows), size):
            some = rows[first : first + size]
            out[some] = _gibbs(ndtri(np.clip(p[some], CLIP, 1 - CLIP)), known[some], precision, sweeps, chains, seed)
        return out

    def draw(self, p: Array, n: int, seed: int = 0) -> NDArray[np.uint8]:
        """(rows, n, labels) label sets."""
        u = ndtri(np.clip(p, CLIP, 1 - CLIP))
        e = np.random.default_rng(seed).standard_normal((n, p.shape[1])) @ np.linalg.cholesky(self.R).T
        return (u[:, None] + e > 0).astype(np.uint8)

    def log_probability(self, p: Array, Y: Array, seed: int = 0, draws: int = DRAWS) -> LogProbability:
        """Of label sets (rows, labels)."""
        sign = np.where(Y > 0.5, 1.0, -1.0)
        reach = sign * ndtri(np.clip(p, CLIP, 1 - CLIP))  # sign e > -reach
        L = np.linalg.cholesky(self.R)
        uniform = np.random.default_rng(seed).random((p.shape[1], 1, draws))
        size = max(1, CELLS // (draws * p.shape[1]))
        parts = [_ghk(reach[k : k + size], sign[k : k + size], L, uniform) for k in range(0, len(p), size)]
        return LogProbability(*(np.concatenate(side) for side in zip(*parts, strict=True)))


def _gibbs(u: Array, known: Array, precision: Array, sweeps: int, chains: int, seed: int) -> Array:
    rng = np.random.default_rng(seed)
    n, n_labels = u.shape
    e = np.zeros((n_labels, n, chains))
    total = np.zeros((n_labels, n))
    told = np.nan_to_num(known, nan=-1.0)
    for sweep in range(BURN_IN + sweeps):
        for i in range(n_labels):
            deviation = precision[i, i] ** -0.5
            mean = e[i] - np.tensordot(precision[i], e, axes=1) / precision[i, i]
            above = ndtr((u[:, i, None] + mean) / deviation)  # P(e_i > -u_i)
            if sweep >= BURN_IN:
                total[i] += above.mean(1)
            value = told[:, i, None]
            low, high = np.where(value == 1, 1 - above, 0.0), np.where(value == 0, 1 - above, 1.0)
            quantile = low + (high - low) * rng.random((1, chains))
            e[i] = mean + deviation * ndtri(np.clip(quantile, 1e-12, 1 - 1e-12))
    return np.asarray(total.T / sweeps)


def _ghk(reach: Array, sign: Array, L: Array, uniform: Array) -> tuple[Array, Array]:
    """(log p, its standard error), (rows,) each; ``uniform`` (labels, 1, draws) is shared by the rows."""
    n, n_labels = reach.shape
    e = np.zeros((n_labels, n, uniform.shape[2]))  # independent normals
    log_weight = np.zeros((n, uniform.shape[2]))
    for i in range(n_labels):
        pushed = np.tensordot(L[i, :i], e[:i], axes=1) if i else np.zeros((n, uniform.shape[2]))
        inside = np.maximum(ndtr((reach[:, i, None] + sign[:, i, None] * pushed) / L[i, i]), 1e-300)
        log_weight += np.log(inside)
        # sign e_i is a standard normal above -reach: its mirror is one below
        e[i] = -sign[:, i, None] * ndtri(np.clip(uniform[i] * inside, 1e-300, 1 - 1e-15))
    top = log_weight.max(1, keepdims=True)
    weight = np.exp(log_weight - top)
    mean = weight.mean(1)
    return top[:, 0] + np.log(mean), weight.std(1, ddof=1) / mean / np.sqrt(weight.shape[1])
