"""Gradients of a mean over rows, put together from several batches and from several processes.

What one batch gives is a mean over its rows; the mean over the rows of several weighs each by how many rows it has. So
micro-batches that are accumulated, and the shards of torch.distributed's processes (ranks), train an energy as the joined batch
would. In a single process nothing is communicated, and nothing changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce

import torch
import torch.distributed as dist
from torch import Tensor

from enstruct.errors import ConfigError
from enstruct.hypergradients.bilevel import Gradients, added


@dataclass(frozen=True)
class MeanGradient:
    """A loss () and its gradient, both means over ``rows`` rows; one entry a parameter, None where it has no part in the loss."""

    loss: Tensor
    gradient: Gradients
    rows: int

    def joined(self, other: MeanGradient | None) -> MeanGradient:
        """The means over the rows of both."""
        if other is None:
            return self
        rows = self.rows + other.rows
        mine, its = self.rows / rows, other.rows / rows
        nothing: Gradients = (None,) * len(self.gradient)
        gradient = added(added(nothing, self.gradient, mine), other.gradient, its)
        return MeanGradient(mine * self.loss + its * other.loss, gradient, rows)

    def over_ranks(self, parameters: Sequence[Tensor]) -> MeanGradient:
        """The means over the rows of every rank, the same on all of them: each has to call this.

        A parameter without a part in the loss on any rank keeps None, which an optimiser tells from zero.
        """
        if n_ranks() == 1:
            return self
        dtype = reduce(torch.promote_types, (p.dtype for p in parameters), torch.float32)  # counts of rows need that much
        gradients = [torch.zeros_like(p) if g is None else g for p, g in zip(parameters, self.gradient, strict=True)]
        has_part = torch.tensor([g is not None for g in self.gradient], device=self.loss.device)
        parts = [*(g.flatten().to(dtype) for g in gradients), has_part.to(dtype), self.loss.to(dtype).view(1)]
        sums = torch.cat([*parts, self.loss.new_ones(1, dtype=dtype)]).mul_(self.rows)
        dist.all_reduce(sums)
        *sums_of, has_part, loss, rows = sums.split([*(p.numel() for p in parameters), len(gradients), 1, 1])
        gradient = tuple(
            (g / rows).view_as(p).to(p.dtype) if there else None
            for p, g, there in zip(parameters, sums_of, (has_part > 0).tolist(), strict=True)
        )
        return MeanGradient((loss / rows).to(self.loss.dtype).squeeze(), gradient, int(rows))


def n_ranks() -> int:
    """How many processes train together: those of torch.distributed's default group, else this one."""
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


@torch.no_grad()
def take_from_first_rank(tensors: Iterable[Tensor]) -> None:
    """Every rank's tensors become those of rank 0; each has to call this with as many of the same shapes."""
    if n_ranks() == 1:
        return
    for tensor in tensors:
        sent = tensor.detach().clone(memory_format=torch.contiguous_format)
        dist.broadcast(sent, src=0)
        tensor.copy_(sent)


def check_equal_on_ranks(device: torch.device, remedy: str, **numbers: int) -> None:
    """ConfigError, on every rank alike, if one of the numbers is not the same on all; each has to call this."""
    if n_ranks() == 1:
        return
    own = torch.tensor(list(numbers.values()), device=device)
    ends = torch.cat([own, -own])
    dist.all_reduce(ends, dist.ReduceOp.MAX)
    most, least = ends.split(len(own))
    for name, high, low in zip(numbers, most.tolist(), (-least).tolist(), strict=True):
        if high != low:
            raise ConfigError(f"The ranks of torch.distributed differ in {name.replace('_', ' ')}: {low} to {high}. {remedy}")
