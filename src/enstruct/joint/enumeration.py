"""All 2^T states of the free labels: exact marginals, samples and partition functions where they are few."""

from __future__ import annotations

from functools import lru_cache

import torch
from torch import Tensor

from enstruct.joint.clamped import Clamped

MOST_FREE = 14
"""Free labels up to which marginals are enumerated: beyond, chains are faster."""
MOST_COUNTED = 16
"""Free labels up to which the partition function is enumerated."""
STATES_AT_ONCE = 2**15


@lru_cache(maxsize=4)
def states(n_free: int) -> Tensor:
    """(2^T, T) in binary order, the first label changing fastest."""
    return ((torch.arange(2**n_free).unsqueeze(1) >> torch.arange(n_free)) & 1).float()


def log_densities(problem: Clamped) -> Tensor:
    """-E (rows, 2^T); states with a padded label present count for nothing. In double precision: sums of many follow."""
    y = states(problem.free.shape[1])
    rows = max(1, STATES_AT_ONCE // len(y))
    parts = []
    for some in torch.arange(len(problem.free)).split(rows):
        few = problem.take(some)
        parts.append(few.log_density(y.unsqueeze(0)).double().masked_fill((~few.real).double() @ y.double().T > 0, -torch.inf))
    return torch.cat(parts) if parts else torch.empty(0, len(y), dtype=torch.float64)


def marginals(problem: Clamped) -> Tensor:
    """(rows, T) exact."""
    weights = torch.softmax(log_densities(problem), 1)
    return (weights @ states(problem.free.shape[1]).double()).float()


def draw(problem: Clamped, n: int, generator: torch.Generator, shared: bool = True) -> Tensor:
    """(rows, n, T) exact samples, a row's independent of each other. ``shared``: all rows' by the same numbers, so that a row's
    do not depend on what other rows there are; else independent from row to row."""
    cumulative = torch.softmax(log_densities(problem), 1).cumsum(1)
    uniform = torch.rand(1 if shared else len(cumulative), n, generator=generator, dtype=torch.float64) * cumulative[:, -1:]
    index = torch.searchsorted(cumulative, uniform.contiguous())
    return states(problem.free.shape[1])[index.clamp(max=cumulative.shape[1] - 1)]


def log_partition(problem: Clamped) -> Tensor:
    """(rows,) log of the sum of exp(-E) over all states."""
    return torch.logsumexp(log_densities(problem), 1)
