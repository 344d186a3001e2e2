"""Annealed importance sampling (Neal 2001): log Z of the free labels where they are too many to enumerate.

From independent labels q, whose partition function is 1, to the energy by  log p_b = (1 - b) log q - b E,  b from 0 to 1:

    log w = sum_k (b_k - b_{k-1}) [-E(y_{k-1}) - log q(y_{k-1})],     y_k one Gibbs sweep of p_{b_k} from y_{k-1}
    log Z = log mean w

E[w] = Z exactly, for any number of steps. Where the path ends at another energy than the one that is asked for, as it must where
some sets are impossible, w is multiplied by the ratio of the two at its end. To first order the error of log Z is
sd(w) / (mean(w) sqrt(chains)), and the effective sample size (sum w)^2 / sum w^2 says how many chains carry the estimate.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from enstruct.joint.clamped import Clamped
from enstruct.joint.gibbs import Uniforms

STEPS, CHAINS = 60, 32
IMPOSSIBLE = 100.0
"""Nats that a set at the path's end is less likely by the energy that is asked for, and counts nothing."""


class Partition(NamedTuple):
    """log Z (rows,) with its standard error and the effective sample size, (rows,) each. Where no chain ends at a set that is
    possible, it is the path's, which is more than what is asked for, and the error is infinite."""

    log_z: Tensor
    error: Tensor
    effective: Tensor


@torch.no_grad()
def log_partition(
    problem: Clamped,
    start: Tensor,
    generator: torch.Generator,
    n_labels: int,
    steps: int = STEPS,
    chains: int = CHAINS,
    asked: Clamped | None = None,
) -> Partition:
    """q has the marginals ``start`` (rows, T) of the free labels, padded ones aside. ``asked``: of the energy whose log Z it is,
    if not the problem's, which the path ends at."""
    p = start.clamp(1e-4, 1 - 1e-4)
    logits = torch.logit(p).masked_fill(~problem.real, 0.0)
    absent = torch.log1p(-p).masked_fill(~problem.real, 0.0).sum(1, keepdim=True)
    uniforms = Uniforms(n_labels, chains, generator)
    walk = problem.chains(uniforms.start(problem.free, p))
    log_w = torch.zeros(len(p), chains, dtype=torch.float64)
    for k in range(1, steps + 1):
        y = walk.y.transpose(1, 2)
        gap = problem.log_density(y) - (y @ logits.unsqueeze(2)).squeeze(2) - absent
        log_w += gap.double() / steps
        if k < steps:
            b, draws = k / steps, uniforms.sweep(problem.free)
            for t in walk.moving:
                mixed = b * walk.log_odds(t) + (1 - b) * logits.T[t].unsqueeze(-1)
                walk.put(t, (draws[t] < torch.sigmoid(mixed)).to(p.dtype))
    ratio = torch.zeros(len(p), 1) if asked is None else (asked.log_density(y) - problem.log_density(y)).double()
    unknown = (ratio < -IMPOSSIBLE).all(1)
    log_w += ratio.masked_fill(unknown.unsqueeze(1), 0.0)
    log_z = torch.logsumexp(log_w, 1) - torch.log(torch.tensor(float(chains)))
    w = torch.exp(log_w - log_w.amax(1, keepdim=True))
    error = (w.std(1) / w.mean(1) / chains**0.5).masked_fill(unknown, torch.inf)
    return Partition(log_z, error, w.sum(1).square() / w.square().sum(1))
