"""Candidates one label away from the truth, as pseudo-likelihood compares them with it.

    y_k = y with label i_k flipped,     w_k labels for which it stands

All L flips of a row have weight 1. Where ``n`` of them are drawn, those of its positives are all among them, and of its N
negatives m, without repetition, of weight N/m each: the weighted sum over flips is right in expectation. Positives are few and
telling, negatives many and alike.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from enstruct.negatives.base import Candidates, Negatives, NegativeSource, Situation, check_label_sets
from enstruct.randomness import drawn_like
from enstruct.spaces.base import RelaxedSpace
from enstruct.validation import check_whole


@dataclass(frozen=True)
class LabelFlips(Negatives):
    """``n``: flips a row, but at least twice as many as any row of the batch has positives; None: one for every label.

    Dense (batch, flips, labels): a batch takes memory in proportion to that. ConfigError for outputs that are no label sets.
    """

    n: int | None = None

    def __post_init__(self) -> None:
        if self.n is not None:
            check_whole(1, n_samples=self.n)

    def build(self, space: RelaxedSpace, n_outputs: int, predictor: nn.Module | None = None) -> NegativeSource:
        check_label_sets(space, self)
        return super().build(space, n_outputs, predictor)

    def draw(self, at: Situation, space: RelaxedSpace) -> Candidates:
        truth = at.truth
        flipped, weight = self._labels(truth)
        if at.mask is not None:
            weight = weight * at.mask.expand_as(truth).gather(1, flipped)
        y = truth.unsqueeze(1).repeat(1, flipped.shape[1], 1)
        y.scatter_(2, flipped.unsqueeze(2), (1 - truth.gather(1, flipped)).unsqueeze(2))
        return Candidates(y, weight=weight)

    def _labels(self, truth: Tensor) -> tuple[Tensor, Tensor]:
        """Numbers of the labels to flip, and their weights, both (batch, flips)."""
        batch, n_labels = truth.shape
        positives = truth.sum(1, keepdim=True)  # (batch, 1)
        most = n_labels if self.n is None else min(n_labels, max(self.n, 2 * int(positives.max())))
        if most == n_labels:
            return torch.arange(n_labels, device=truth.device).expand(batch, -1), torch.ones_like(truth)
        rank = torch.rand(batch, n_labels, **drawn_like(truth)) + truth  # positives come first
        flipped = rank.topk(most, dim=1).indices
        stands_for = (n_labels - positives) / (most - positives)
        return flipped, torch.where(truth.gather(1, flipped) > 0, 1.0, stands_for)
