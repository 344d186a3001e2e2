r"""Label sets: y in {0,1}^L, relaxed to [0,1]^L, with independent Bernoulli marginals p = sigmoid(logits).

    log P(y)   = sum_l  y_l z_l - softplus(z_l)                      (z = logits)
    H(y)       = -sum_l  y_l log y_l + (1 - y_l) log(1 - y_l)        (entropy of relaxed y)

Costs: :mod:`enstruct.spaces.costs`.

Sampling draws active labels only. A Bernoulli(p) indicator is the event that a Poisson(-log(1-p))
count is positive, and independent Poisson counts over all (row, label) cells are one Poisson total
scattered in proportion to the rates. So labels with p <= 1/2 cost as much as the points that fall,
and only the few with p > 1/2 are drawn one by one. Marginals and independence are exact.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from enstruct.randomness import drawn_like, generator
from enstruct.spaces.base import Cost, IndependentParts
from enstruct.spaces.costs import COSTS, EPS
from enstruct.spaces.label_vectors import Labels, LabelVectors, inner

MOST_CELLS = 2**28
"""Of all samples of a batch, up to which an accelerator draws every one of them."""


@dataclass(frozen=True)
class LabelSpace(IndependentParts):
    """{0,1}^L with a task cost in ``COSTS``; ``positive_weight`` (L,) weighs active labels in the supervised loss."""

    n_labels: int
    cost_name: str = "soft-f1"
    positive_weight: Tensor | None = None
    costs: ClassVar[Mapping[str, Cost]] = COSTS
    outputs: ClassVar[str] = "label sets"

    def relax(self, logits: Tensor) -> Tensor:
        return torch.sigmoid(logits)

    def supervised_loss(self, logits: Tensor, truth: Tensor, mask: Tensor | None = None) -> Tensor:
        """Cross-entropy summed over labels: logits, truth (batch, labels) -> (batch,)."""
        loss = F.binary_cross_entropy_with_logits(logits, truth, pos_weight=self.positive_weight, reduction="none")
        return (loss if mask is None else loss * mask).sum(-1)

    def log_prob(self, y: Labels, logits: Tensor, mask: Tensor | None = None) -> Tensor:
        """(batch, samples) log-probability of binary y under independent Bernoullis."""
        if logits.is_cuda:  # whose samples are dense: 0 times -inf is no number
            logits = logits.clamp(min=torch.finfo(logits.dtype).min)
        if mask is None:
            return inner(y, logits) - F.softplus(logits).sum(-1, keepdim=True)
        logits = logits * mask
        return inner(y, logits) - (F.softplus(logits) * mask).sum(-1, keepdim=True)

    def _n_parts(self, truth: Tensor, mask: Tensor | None) -> Tensor | int:
        return self.n_labels if mask is None else mask.sum(-1, keepdim=True).clamp(min=1)

    # -- the relaxed space as an optimiser sees it ------------------------------------------------

    def centre(self, batch: int, samples: int, like: Tensor, parts: tuple[int, ...] = ()) -> Tensor:
        """(batch, samples, labels) of 1/2."""
        return torch.full((batch, samples, self.n_labels), 0.5, dtype=like.dtype, device=like.device)

    def blank(self, batch: int, samples: int, like: Tensor, parts: tuple[int, ...] = ()) -> Tensor:
        """The empty set."""
        return torch.zeros((batch, samples, self.n_labels), dtype=like.dtype, device=like.device)

    def contains(self, y: Tensor) -> bool:
        return bool(((y >= 0) & (y <= 1)).all())

    def project(self, y: Tensor) -> Tensor:
        return y.clamp(0, 1)

    def unrelax(self, y: Tensor) -> Tensor:
        return torch.logit(y, eps=EPS)

    def pull_back(self, y: Tensor, gradient: Tensor) -> Tensor:
        return gradient * y * (1 - y)

    def decide(self, y: Tensor) -> Tensor:
        return y >= 0.5

    def entropy(self, y: Tensor, logits: Tensor | None = None) -> Tensor:
        """(batch, samples). With the logits z of y it is sum_l softplus(z_l) - y_l z_l, several times cheaper."""
        if logits is not None:
            return (F.softplus(logits) - y * logits).sum(-1)
        inside = y.clamp(EPS, 1 - EPS)
        return -(inside * inside.log() + (1 - inside) * (-inside).log1p()).sum(-1)

    def entropy_gradient(self, y: Tensor, logits: Tensor | None = None) -> Tensor:
        """Minus the logits."""
        return -(self.unrelax(y) if logits is None else logits)

    def concrete(self, logits: Tensor, n: int, temperature: float) -> Tensor:
        """(batch, n, labels) relaxed draws, sigmoid((z + logistic noise) / temperature), differentiable in the logits."""
        return torch.sigmoid((logits.unsqueeze(1) + torch.logit(self._uniform(logits, n))) / temperature)

    @torch.no_grad()
    def sample(self, logits: Tensor, n: int, mask: Tensor | None = None) -> Labels:
        """``n`` independent Bernoulli vectors a row: logits (batch, labels) -> (batch, n, labels).

        Active labels only, or on CUDA, which need not be waited for when it is not asked how many there are, all cells.
        """
        batch, n_labels = logits.shape
        if mask is not None:
            logits = logits.masked_fill(mask == 0, -torch.inf)
        if logits.is_cuda and batch * n * n_labels <= MOST_CELLS:
            return (torch.rand(batch, n, n_labels, **drawn_like(logits)) < torch.sigmoid(logits).unsqueeze(1)).to(logits.dtype)
        flat = logits.reshape(-1)
        keys = torch.cat([_light_keys(flat, n, n_labels), _heavy_keys(flat, n, n_labels)])
        return LabelVectors.from_keys(torch.unique(keys), batch, n, n_labels)


def _light_keys(flat: Tensor, n: int, n_labels: int) -> Tensor:
    """Keys (b*n + s)*L + l of active labels among cells with p <= 1/2, by Poisson thinning (duplicates possible)."""
    rate = F.softplus(flat).masked_fill_(flat > 0, 0.0)  # -log(1 - p)
    cumulative = rate.cumsum(0, dtype=torch.float64)
    total = cumulative[-1]
    count = int(torch.poisson(total * n, generator=generator(flat.device)))
    cell = torch.searchsorted(cumulative, torch.rand(count, **drawn_like(flat, torch.float64)) * total, right=True)
    cell.clamp_(max=flat.numel() - 1)  # rounding of rand * total at the far end
    sample = torch.randint(n, (count,), **drawn_like(flat, torch.int64))
    return _keys(cell, sample, n, n_labels)


def _heavy_keys(flat: Tensor, n: int, n_labels: int) -> Tensor:
    """Keys of active labels among cells with p > 1/2, one coin each."""
    cells = (flat > 0).nonzero().squeeze(1)
    on = torch.rand(cells.numel(), n, **drawn_like(flat, torch.float64)) < torch.sigmoid(flat[cells].double()).unsqueeze(1)
    which, sample = on.nonzero(as_tuple=True)
    return _keys(cells[which], sample, n, n_labels)


def _keys(cell: Tensor, sample: Tensor, n: int, n_labels: int) -> Tensor:
    row = torch.div(cell, n_labels, rounding_mode="floor")
    return (row * n + sample) * n_labels + (cell - row * n_labels)
