"""Every output at once, in the place of candidates: the free energy -log sum_y exp(-E(x, y)) of a linear chain.

It stands for the lowest energy of all outputs, softened, and turns the likelihood of a conditional random field into one more
objective (:mod:`enstruct.objectives.ranking`).

Where some tags of a sentence are open (a token's truth is zero, or has several tags), the truth is all sequences that agree with
what is told: its own free energy takes the place of its energy, so that the loss is -log p of what was told (the marginal
likelihood of partly annotated sentences).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from enstruct.energies.chain import squeezed, tag_places
from enstruct.inference.chain import chain_potentials, clamped, log_partition
from enstruct.negatives.base import Candidates, Negatives, Situation
from enstruct.spaces.base import RelaxedSpace


@dataclass(frozen=True)
class Partition(Negatives):
    def draw(self, at: Situation, space: RelaxedSpace) -> Candidates:
        potentials = chain_potentials(at.energy, at.state)
        free = -log_partition(potentials)
        truth = squeezed(at.truth.unsqueeze(1), tag_places(at.mask)).squeeze(1)
        count = truth.sum(-1, keepdim=True)
        rows = torch.nonzero((potentials.there & (count.squeeze(2) != 1)).any(1)).squeeze(1)
        if len(rows):
            few = potentials._replace(unary=potentials.unary[rows], there=potentials.there[rows])
            agreeing = -log_partition(clamped(few, (truth[rows] > 0) | (count[rows] == 0)))
            free = free.index_add(0, rows, at.energy(at.state.rows(rows), at.truth[rows].unsqueeze(1)).squeeze(1) - agreeing)
        return Candidates(None, energies=free.unsqueeze(1))
