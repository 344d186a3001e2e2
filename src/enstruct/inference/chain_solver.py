"""Answers by a chain energy: exact (:mod:`enstruct.inference.chain`), and by sampling where the energy has terms beside
(:mod:`enstruct.inference.beyond_chain`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import torch
import torch.nn.functional as F
from torch import Tensor

from enstruct.energies.base import State
from enstruct.energies.chain import spread, squeezed, tag_places
from enstruct.errors import ConfigError, unknown_name
from enstruct.inference import beyond_chain, chain
from enstruct.inference.beyond_chain import parted
from enstruct.inference.minimise import Solution, Solver, answered
from enstruct.spaces.base import RelaxedSpace

Answer = Literal["viterbi", "marginals"]


@dataclass(frozen=True)
class Chain(Solver):
    """A solver as data: the most probable sequence, or each token's marginals. Exact for energies of terms local and chain,
    approximate for those that have others beside them."""

    answer: Answer = "marginals"

    def __post_init__(self) -> None:
        if self.answer not in get_args(Answer):
            raise unknown_name("answer of a chain", self.answer, get_args(Answer))

    @torch.no_grad()
    def solve(self, energy: Any, state: State, space: RelaxedSpace, truth: Tensor | None = None) -> Solution:
        """ConfigError for energies without those terms, or a cost that is not linear in y."""
        parts = parted(energy, state)
        potentials, rest = parts
        if truth is not None:
            potentials = potentials._replace(unary=potentials.unary - _linear_cost(space, truth, state.mask))
            parts = parts._replace(chain=potentials)
        viterbi = self.answer == "viterbi"
        if rest is None:
            tags = chain.viterbi(potentials) if viterbi else chain.marginals(potentials)
        elif viterbi:
            n_tags = potentials.unary.shape[2]
            tags = F.one_hot(beyond_chain.lowest(parts, rest), n_tags).to(potentials.unary.dtype)
            tags = tags * potentials.there.unsqueeze(2)
        else:
            tags = beyond_chain.marginals(parts, rest)
        y = spread(tags.unsqueeze(1), tag_places(state.mask)).squeeze(1)
        return answered(energy, state, space, truth, y, True, f"{self.answer} on {len(y)} rows.")


def _linear_cost(space: RelaxedSpace, truth: Tensor, mask: Tensor | None) -> Tensor:
    """(batch, time, tags) the cost's gradient, squeezed; ConfigError if the cost is not linear in y."""
    slope = space.cost_gradient(torch.zeros_like(truth).unsqueeze(1), truth, mask)
    if not torch.allclose(slope, space.cost_gradient(truth.unsqueeze(1), truth, mask)):
        raise ConfigError("Exact cost-augmented inference on a chain needs a cost that is linear in y: hamming-sum or -mean.")
    return squeezed(slope, tag_places(mask)).squeeze(1)
