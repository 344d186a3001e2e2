"""A pair of outputs, the better one first: what inference answers, and what a search for reward makes of it.

ŷ = argmin_y E(x, y),    y⁺ = the truth where it is known, else search(ŷ)                  SG-SPEN (Rooshenas et al. 2019)
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch

from enstruct.errors import ConfigError
from enstruct.inference.minimise import Inference, Solver
from enstruct.negatives.base import Candidates, Drawing, Situation
from enstruct.spaces.base import RelaxedSpace


@dataclass(frozen=True)
class SearchPair(Drawing):
    inference: Solver = field(default_factory=lambda: Inference(steps=10, starts=("predictor",)))

    def draw(self, at: Situation, space: RelaxedSpace) -> Candidates:
        if at.reward is None:
            raise ConfigError("Search-guided training needs a reward: pass fit(..., reward=...).")
        solver = self.inference.resolve(space.relax(at.logits))
        answer = solver.solve(at.energy, at.prepared().detached(), space).y
        better = at.reward.completed(at.truth, answer, at.mask)
        return Candidates(torch.stack([better, answer], dim=1))
