"""Gradients of a mean over rows, put together from several batches and from several processes.

What one batch gives is a mean over its rows; the mean over the rows of several weighs each by how many rows it has. So
micro-batches that are accumulated, and the shards of torch.distributed's processes (ranks), train an energy as the joined batch
would. In a single process nothing is communicated, and nothing changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from enstruct.hypergradients.bilevel import Gradients, added
from enstruct.training.rank_means import RankMeans
from enstruct.training.ranks import n_ranks


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

    def over_ranks(self, parameters: Sequence[Tensor], means: RankMeans) -> MeanGradient:
        """The means over the rows of every rank, the same on all of them: each has to call this.

        A parameter without a part in the loss on any rank keeps None, which an optimiser tells from zero. The gradient lies in
        memory of ``means``, which the next call with these writes to.
        """
        if n_ranks() == 1:
            return self
        gradients = [p.new_zeros(()).expand(p.shape) if g is None else g for p, g in zip(parameters, self.gradient, strict=True)]
        has_part = torch.tensor([float(g is not None) for g in self.gradient], device=self.loss.device)
        numbers, rows = means.of([*gradients, has_part, self.loss.view(1)], self.rows)
        *parts, has_part, loss = numbers.split([*(p.numel() for p in parameters), len(gradients), 1])
        gradient = tuple(
            mean.view_as(p).to(p.dtype) if there else None
            for p, mean, there in zip(parameters, parts, (has_part > 0).tolist(), strict=True)
        )
        return MeanGradient(loss.to(self.loss.dtype, copy=True).squeeze(), gradient, rows)
