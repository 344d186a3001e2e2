"""Every output at once, in the place of candidates: the free energy -log sum_y exp(-E(x, y)) of a linear chain.

It stands for the lowest energy of all outputs, softened, and turns the likelihood of a conditional random field into one more
objective (:mod:`enstruct.objectives.ranking`).
"""

from __future__ import annotations

from dataclasses import dataclass

from enstruct.inference.chain import chain_potentials, log_partition
from enstruct.negatives.base import Candidates, Negatives, Situation
from enstruct.spaces.base import RelaxedSpace


@dataclass(frozen=True)
class Partition(Negatives):
    def draw(self, at: Situation, space: RelaxedSpace) -> Candidates:
        free = -log_partition(chain_potentials(at.energy, at.state))
        return Candidates(None, energies=free.unsqueeze(1))
