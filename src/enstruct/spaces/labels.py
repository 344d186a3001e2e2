r"""Label sets: y in {0,1}^L, relaxed to [0,1]^L, with independent Bernoulli marginals p = sigmoid(logits).

    log P(y)   = sum_l  y_l z_l - softplus(z_l)                      (z = logits)
    soft F1    = 2 sum_l min(y, y') / (sum_l y + sum_l y')           (DVN, Gygli et al. 2017; 1 if both are empty)
    Hamming    = sum_l |y_l - y'_l|, summed or averaged over labels  (`scale`)

Sampling draws active labels only. A Bernoulli(p) indicator is the event that a Poisson(-log(1-p))
count is positive, and independent Poisson counts over all (row, label) cells are one Poisson total
scattered in proportion to the rates. So labels with p <= 1/2 cost as much as the points that fall,
and only the few with p > 1/2 are drawn one by one. Marginals and independence are exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from enstruct.errors import unknown_name
from enstruct.spaces.label_vectors import Labels, LabelVectors, inner, sizes

Cost = Literal["soft-f1", "hamming-mean", "hamming-sum"]
COSTS: tuple[Cost, ...] = ("soft-f1", "hamming-mean", "hamming-sum")


@dataclass(frozen=True)
class LabelSpace:
    """{0,1}^L with a task cost in ``COSTS``; ``positive_weight`` (L,) weighs active labels in the supervised loss."""

    n_labels: int
    cost_name: Cost = "soft-f1"
    positive_weight: Tensor | None = None

    def __post_init__(self) -> None:
        if self.cost_name not in COSTS:
            raise unknown_name("cost", self.cost_name, COSTS)

    def relax(self, logits: Tensor) -> Tensor:
        return torch.sigmoid(logits)

    def supervised_loss(self, logits: Tensor, truth: Tensor, mask: Tensor | None = None) -> Tensor:
        """Cross-entropy summed over labels: logits, truth (batch, labels) -> (batch,)."""
        loss = F.binary_cross_entropy_with_logits(logits, truth, pos_weight=self.positive_weight, reduction="none")
        return (loss if mask is None else loss * mask).sum(-1)

    def log_prob(self, y: Labels, logits: Tensor, mask: Tensor | None = None) -> Tensor:
        """(batch, samples) log-probability of binary y under independent Bernoullis."""
        if mask is not None:
            logits = logits * mask
            log_empty = -(F.softplus(logits) * mask).sum(-1)
        else:
            log_empty = -F.softplus(logits).sum(-1)
        return inner(y, logits) + log_empty.unsqueeze(-1)

    def cost(self, y: Labels, truth: Tensor, mask: Tensor | None = None) -> Tensor:
        """(batch, samples) cost in the space's unit; soft F1 costs lie in [0, 1]."""
        if mask is not None:
            truth = truth * mask
            y = (y.to_dense(truth.dtype) if isinstance(y, LabelVectors) else y) * mask.unsqueeze(1)
        if self.cost_name == "soft-f1":
            return 1 - soft_f1(y, truth)
        difference = _absolute_difference(y, truth)
        if self.cost_name == "hamming-sum":
            return difference
        return difference / (self.n_labels if mask is None else mask.sum(-1, keepdim=True).clamp(min=1))

    @torch.no_grad()
    def sample(self, logits: Tensor, n: int, mask: Tensor | None = None) -> LabelVectors:
        """``n`` independent Bernoulli vectors a row: logits (batch, labels) -> LabelVectors (batch, n, labels)."""
        batch, n_labels = logits.shape
        if mask is not None:
            logits = logits.masked_fill(mask == 0, -torch.inf)
        flat = logits.reshape(-1)
        keys = torch.cat([_light_keys(flat, n, n_labels), _heavy_keys(flat, n, n_labels)])
        return LabelVectors.from_keys(torch.unique(keys), batch, n, n_labels)


def _light_keys(flat: Tensor, n: int, n_labels: int) -> Tensor:
    """Keys (b*n + s)*L + l of active labels among cells with p <= 1/2, by Poisson thinning (duplicates possible)."""
    rate = F.softplus(flat).masked_fill_(flat > 0, 0.0)  # -log(1 - p)
    cumulative = rate.cumsum(0, dtype=torch.float64)
    total = cumulative[-1]
    count = int(torch.poisson(total * n))
    cell = torch.searchsorted(cumulative, torch.rand(count, dtype=torch.float64, device=flat.device) * total, right=True)
    cell.clamp_(max=flat.numel() - 1)  # rounding of rand * total at the far end
    sample = torch.randint(n, (count,), device=flat.device)
    return _keys(cell, sample, n, n_labels)


def _heavy_keys(flat: Tensor, n: int, n_labels: int) -> Tensor:
    """Keys of active labels among cells with p > 1/2, one coin each."""
    cells = (flat > 0).nonzero().squeeze(1)
    on = torch.rand(cells.numel(), n, dtype=torch.float64, device=flat.device) < torch.sigmoid(flat[cells].double()).unsqueeze(1)
    which, sample = on.nonzero(as_tuple=True)
    return _keys(cells[which], sample, n, n_labels)


def _keys(cell: Tensor, sample: Tensor, n: int, n_labels: int) -> Tensor:
    row = torch.div(cell, n_labels, rounding_mode="floor")
    return (row * n + sample) * n_labels + (cell - row * n_labels)


def soft_f1(y: Labels, truth: Tensor) -> Tensor:
    """(batch, samples) F1 of relaxed label vectors; truth (batch, labels). Two empty vectors agree: 1."""
    if isinstance(y, LabelVectors):
        shared = inner(y, truth)
    else:
        shared = torch.minimum(y, truth.unsqueeze(1)).sum(-1)
    total = sizes(y) + truth.sum(-1, keepdim=True)
    return torch.where(total > 0, 2 * shared / total.clamp(min=1e-12), torch.ones_like(shared))


def _absolute_difference(y: Labels, truth: Tensor) -> Tensor:
    """(batch, samples) sum_l |y - truth|."""
    if isinstance(y, LabelVectors):
        return y.sizes + truth.sum(-1, keepdim=True) - 2 * inner(y, truth)
    return (y - truth.unsqueeze(1)).abs().sum(-1)
