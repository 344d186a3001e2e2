"""Candidates that share some labels with the truth, as they are asked where those are known.

A row tells each label with the same probability, its share, which is drawn evenly from [0, 1]: from nothing told to all.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn

from enstruct.negatives.base import Candidates, Negatives, NegativeSource, Situation, check_label_sets
from enstruct.randomness import drawn_like
from enstruct.spaces.base import RelaxedSpace
from enstruct.spaces.label_vectors import beside
from enstruct.validation import check_whole


@dataclass(frozen=True)
class ConditionalSamples(Negatives):
    """``n`` a row: labels told as in the truth, the same ones in all of them; the others y_kl ~ P(y_l | F(x)).

    Log-probabilities are of the drawn labels alone. ConfigError for outputs that are no label sets.
    """

    n: int = 20
    has_noise = True

    def __post_init__(self) -> None:
        check_whole(1, n_samples=self.n)

    def build(self, space: RelaxedSpace, n_outputs: int, predictor: nn.Module | None = None) -> NegativeSource:
        check_label_sets(space, self)
        return super().build(space, n_outputs, predictor)

    def draw(self, at: Situation, space: RelaxedSpace) -> Candidates:
        logits, truth = at.logits.detach(), at.truth
        share = torch.rand(len(truth), 1, **drawn_like(truth))
        told = torch.rand(truth.shape, **drawn_like(truth)) < share
        certain = torch.where(truth > 0, torch.inf, -torch.inf).to(logits.dtype)
        y = space.sample(torch.where(told, certain, logits), self.n, at.mask)
        asked = (~told).to(logits.dtype) if at.mask is None else (~told) * at.mask
        log_noise = space.log_prob(beside(truth, y), logits, asked)  # (batch, 1 + n)
        return Candidates(y, log_noise[:, 1:], log_noise[:, 0])
