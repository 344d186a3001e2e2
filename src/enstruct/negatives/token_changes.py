"""A sentence with one token's tag changed, as pseudo-likelihood of tags compares it with the truth (Besag 1975).

    G_t = -log sum_{k != y_t} exp(-E(y with y_t = k))          softplus(E(y) - G_t) = -log p(y_t | x, all other tags)

All other tags of a token are one candidate, by their free energy G_t. Of energies whose terms are linear in each token's tag, the
others held (chains of every distance), one gradient has them of all tokens and tags:

    E(y with y_t = k) = E(y) + dE/dy_tk - dE/dy_t . y_t

Of others ``n`` tokens a sentence are drawn, without repetition, each standing for T / n of its T, and all their tags are tried.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor, nn

from enstruct.energies.base import SumEnergy, Term
from enstruct.errors import ConfigError
from enstruct.negatives.base import Candidates, Negatives, NegativeSource, Situation
from enstruct.randomness import drawn_like
from enstruct.spaces.base import RelaxedSpace
from enstruct.spaces.tags import TagSpace
from enstruct.validation import check_whole


@dataclass(frozen=True)
class TokenChanges(Negatives):
    """``n``: tokens a sentence, where not all are had at once; None: all. ConfigError for outputs that are no tag sequences."""

    n: int | None = 8

    def __post_init__(self) -> None:
        if self.n is not None:
            check_whole(1, n_samples=self.n)

    def build(self, space: RelaxedSpace, n_outputs: int, predictor: nn.Module | None = None) -> NegativeSource:
        if not isinstance(space, TagSpace):
            raise ConfigError("TokenChanges changes tags token by token: for label sets take LabelFlips(), for masks samples.")
        return super().build(space, n_outputs, predictor)

    def draw(self, at: Situation, space: RelaxedSpace) -> Candidates:
        truth = at.truth
        there = truth.sum(2) if at.mask is None else truth.sum(2) * at.mask.squeeze(2)  # (batch, time)
        if _linear(at.energy):
            value, slope = at.energy.value_and_gradient(at.state, truth.unsqueeze(1))
            slope = slope.squeeze(1)
            energies = value.unsqueeze(2) + slope - (slope * truth).sum(2, keepdim=True)  # (batch, time, tags)
            return _candidates(energies, truth, there)
        places, weight = self._places(there)
        index = places.unsqueeze(2).expand(-1, -1, truth.shape[2])
        return _candidates(_tried(at, places), truth.gather(1, index), weight)

    def _places(self, there: Tensor) -> tuple[Tensor, Tensor]:
        """Tokens to change, and how many each stands for, both (batch, n)."""
        count = there.sum(1, keepdim=True)
        most = there.shape[1] if self.n is None else min(there.shape[1], self.n)
        rank = torch.rand(there.shape, **drawn_like(there)) + there  # those that have a tag come first
        places = rank.topk(most, dim=1).indices
        return places, there.gather(1, places) * count / count.clamp(min=1, max=most)


def _linear(energy: Any) -> bool:
    terms = cast(list[Term], list(energy.terms)) if isinstance(energy, SumEnergy) else []
    return bool(terms) and all(term.linear_in_tags for term in terms)


def _tried(at: Situation, places: Tensor) -> Tensor:
    """(batch, n, tags) the energy with each of these tokens (batch, n) changed to each tag."""
    (batch, n), n_tags = places.shape, at.truth.shape[2]
    y = at.truth[:, None, None].repeat(1, n, n_tags, 1, 1)  # (batch, n, tags, time, tags)
    one_hot = torch.eye(n_tags, dtype=y.dtype, device=y.device)
    index = places[:, :, None, None, None].expand(-1, -1, n_tags, 1, n_tags)
    y.scatter_(3, index, one_hot[None, None, :, None].expand(batch, n, -1, -1, -1))
    energies: Tensor = at.energy(at.state, y.flatten(1, 2))
    return energies.view(batch, n, n_tags)


def _candidates(energies: Tensor, truth: Tensor, weight: Tensor) -> Candidates:
    """The free energies of all tags but the true one; ``energies`` and ``truth`` (batch, n, tags)."""
    others = (-energies).masked_fill(truth > 0, -torch.inf)
    return Candidates(None, energies=-torch.logsumexp(others, 2), weight=weight)
