"""Gibbs sampling of the free labels of many rows, all chains at once.

A sweep draws every free label from its conditional given the others, in order. The marginals are Rao-Blackwellised: the means of
those conditionals, not of the draws. The spread of the chains' own means bounds the error, so that a row stops when

    max_t  sd over chains of (mean over sweeps of sigma(s_t)) / sqrt(chains)  <=  tolerance

whatever the autocorrelation within a chain. All rows use the same uniform numbers, label by label: what is answered for a row
does not depend on the others it is asked with. Samples that are to be independent from row to row have numbers for every row.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from enstruct.joint.clamped import Chains, Clamped

CHAINS, ROUND, MOST_SWEEPS = 16, 6, 200
TOLERANCE = 0.01
"""Standard error of sampled marginals at most."""


class Estimate(NamedTuple):
    """``marginals`` (rows, T), the bound on their standard errors (rows,), and the sweeps after burn-in (rows,)."""

    marginals: Tensor
    error: Tensor
    sweeps: Tensor


class Uniforms:
    """The same numbers for all rows, (labels, chains) a sweep, read by the numbers of the free labels; not ``shared``, each its
    own."""

    def __init__(self, n_labels: int, chains: int, generator: torch.Generator, shared: bool = True) -> None:
        self.shape, self.generator, self.shared = (n_labels, chains), generator, shared

    def sweep(self, free: Tensor) -> Tensor:
        """(T, rows, chains)."""
        if not self.shared:
            return torch.rand(*free.T.shape, self.shape[1], generator=self.generator)
        return torch.rand(self.shape, generator=self.generator)[free.T]

    def start(self, free: Tensor, p: Tensor) -> Tensor:
        """(rows, T, chains) of 0 and 1: independent draws with these marginals (rows, T)."""
        return (self.sweep(free) < p.T.unsqueeze(2)).to(p.dtype).transpose(0, 1)


def sweep(chains: Chains, uniforms: Tensor, total: Tensor | None = None) -> None:
    """Draw each free label once that may change; ``total`` (T, rows, chains) gathers the conditionals."""
    for t in chains.moving:
        p = torch.sigmoid(chains.log_odds(t))
        if total is not None:
            total[t] += p
        chains.put(t, p.gt_(uniforms[t]))
    chains.jump()


@torch.no_grad()
def marginals(
    problem: Clamped, start: Tensor, generator: torch.Generator, n_labels: int, tolerance: float = TOLERANCE, chains: int = CHAINS
) -> Estimate:
    """From chains started at independent draws with the marginals ``start`` (rows, T)."""
    uniforms = Uniforms(n_labels, chains, generator)
    walk = problem.chains(problem.legal(uniforms.start(problem.free, start)))
    for _ in range(problem.burn_in):
        sweep(walk, uniforms.sweep(problem.free))
    rows, T = problem.free.shape
    out, error, sweeps = torch.empty(rows, T), torch.empty(rows), torch.zeros(rows, dtype=torch.long)
    waiting, total, done = torch.arange(rows), torch.zeros(T, rows, chains), 0
    while len(waiting):
        for _ in range(ROUND):
            sweep(walk, uniforms.sweep(problem.free), total)
        done += ROUND
        means = total / done
        bound = (_spread(means) * problem.real.T).amax(0) / chains**0.5 if T else torch.zeros(len(waiting))
        ended = (bound <= tolerance) | (done >= MOST_SWEEPS)
        out[waiting[ended]], error[waiting[ended]], sweeps[waiting[ended]] = means[:, ended].mean(2).T, bound[ended], done
        left = torch.nonzero(~ended).squeeze(1)
        if len(left) < len(waiting):
            problem, total, waiting = problem.take(left), total[:, left], waiting[left]
            walk = problem.chains(walk.y[left])
    return Estimate(out, error, sweeps)


def _spread(means: Tensor) -> Tensor:
    """Standard deviation over the last dimension, which torch.std takes ten times as long for."""
    return torch.linalg.vector_norm(means - means.mean(2, keepdim=True), dim=2) / (means.shape[2] - 1) ** 0.5


@torch.no_grad()
def draw(
    problem: Clamped, start: Tensor, n: int, sweeps: int, generator: torch.Generator, n_labels: int, shared: bool = True
) -> Tensor:
    """(rows, n, T): the states of n chains after so many sweeps."""
    uniforms = Uniforms(n_labels, n, generator, shared)
    walk = problem.chains(problem.legal(uniforms.start(problem.free, start)))
    for _ in range(sweeps):
        sweep(walk, uniforms.sweep(problem.free))
    return walk.y.transpose(1, 2)
