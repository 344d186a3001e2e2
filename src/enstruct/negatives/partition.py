"""Every output at once, in the place of candidates: the free energy -log sum_y exp(-E(x, y)) of a linear chain.

It stands for the lowest energy of all outputs, softened, and turns the likelihood of a conditional random field into one more
objective (:mod:`enstruct.objectives.ranking`).

Where some tags of a sentence are open (a token's truth is zero, or has several tags), the truth is all sequences that agree with
what is told: its own free energy takes the place of its energy, so that the loss is -log p of what was told (the marginal
likelihood of partly annotated sentences).

An energy that is more than a chain, E_chain + R (:mod:`enstruct.inference.beyond_chain`), has its log Z estimated, and with it
the gradient, by sequences that are annealed from the chain to the energy, y_k0 to y_k, with weights w_k that sum to one:

    log Z  =  log Z_chain + log mean w          d log Z  =  d log Z_chain - sum_k w_k dE(y_k) + mean_k dE_chain(y_k0)

of which the last two are small where R is, since the chain's own gradient is exact.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from enstruct.energies.chain import squeezed, tag_places
from enstruct.inference.beyond_chain import Numbers, Parts, annealed, chain_energies, parted
from enstruct.inference.chain import clamped, log_partition
from enstruct.negatives.base import Candidates, Negatives, Situation
from enstruct.randomness import generator
from enstruct.spaces.base import RelaxedSpace
from enstruct.validation import check_whole

STEPS = 2
"""Of annealing, in a step of training."""


@dataclass(frozen=True)
class Partition(Negatives):
    """``n``: sequences a sentence that are drawn where the energy is more than a chain."""

    n: int = 16

    def __post_init__(self) -> None:
        check_whole(1, n_samples=self.n)

    def draw(self, at: Situation, space: RelaxedSpace) -> Candidates:
        parts = parted(at.energy, at.state)
        free = -self._log_partition(parts)
        truth = squeezed(at.truth.unsqueeze(1), tag_places(at.mask)).squeeze(1)
        count = truth.sum(-1, keepdim=True)
        there = parts.chain.there
        rows = torch.nonzero((there & (count.squeeze(2) != 1)).any(1)).squeeze(1)
        if len(rows):
            few = parts.chain._replace(unary=parts.chain.unary[rows], there=there[rows])
            told = clamped(few, (truth[rows] > 0) | (count[rows] == 0))
            agreeing = -self._log_partition(Parts(told, None if parts.rest is None else parts.rest.rows(rows)))
            free = free.index_add(0, rows, at.energy(at.state.rows(rows), at.truth[rows].unsqueeze(1)).squeeze(1) - agreeing)
        return Candidates(None, energies=free.unsqueeze(1))

    def _log_partition(self, parts: Parts) -> Tensor:
        """(batch,) with its gradient."""
        exact = log_partition(parts.chain)
        if parts.rest is None:
            return exact
        there = parts.chain.there[:, 0]
        seed = int(torch.randint(2**31, (1,), generator=generator("cpu")))
        ways = annealed(parts, parts.rest, Numbers(seed, self.n), STEPS)
        weight = torch.softmax(ways.log_weight, 1).to(exact.dtype)
        value = (torch.logsumexp(ways.log_weight, 1) - math.log(self.n)).to(exact.dtype)
        end = chain_energies(parts.chain, ways.end) + parts.rest(ways.end)
        tilt = chain_energies(parts.chain, ways.start).mean(1) - (weight * end).sum(1)
        return exact + (value + tilt - tilt.detach()) * there
