"""A pair of outputs, the better one first: what inference answers, and what a search for reward makes of it.

ŷ = argmin_y E(x, y),    y⁺ = the truth where it is known, else search(ŷ)                  SG-SPEN (Rooshenas et al. 2019)
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import nn

from enstruct.errors import ConfigError
from enstruct.inference.minimise import Inference, Solver
from enstruct.negatives.base import Candidates, NegativeSource, Situation
from enstruct.spaces.base import RelaxedSpace


@dataclass(frozen=True)
class SearchPair:
    inference: Solver = field(default_factory=lambda: Inference(steps=10, starts=("predictor",)))
    has_noise = False
    differentiable = False

    def build(self, space: RelaxedSpace, n_outputs: int, predictor: nn.Module | None = None) -> NegativeSource:
        return _Pair(space, self)


class _Pair(NegativeSource):
    def __init__(self, space: RelaxedSpace, settings: SearchPair) -> None:
        super().__init__()
        self.space, self.settings = space, settings

    def draw(self, at: Situation) -> Candidates:
        if at.reward is None:
            raise ConfigError("Search-guided training needs a reward: pass fit(..., reward=...).")
        how = self.settings.inference.resolve(self.space.relax(at.logits))
        found = how.solve(at.energy, at.prepared().detached(), self.space).y
        better = at.reward.completed(at.truth, found, at.mask)
        return Candidates(torch.stack([better, found], dim=1))
