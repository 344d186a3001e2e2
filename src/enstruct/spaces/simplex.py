r"""One of K classes at every place of an output, relaxed to a point of the simplex, independent given the logits.

    y          (batch, samples, *places, classes)      one-hot, relaxed on the simplex; zero in holes
    truth      (batch, *places, classes)               one-hot, zero in holes; 1 at each of several where it may be any of them
    mask       (batch, *places, 1)                     1 where there is a place: padding and holes are 0

``places`` are the tokens of a sentence (:mod:`enstruct.spaces.tags`) or the rows and columns of an image
(:mod:`enstruct.spaces.masks`).

    log P(y)   = sum_p  y_p . log softmax(z_p)           (z = logits)
    H(y)       = -sum_p sum_k  y_pk log y_pk

Costs of a relaxed output y against a true one t, summed over places ("hamming-mean": averaged over them):

    hamming-sum    sum_p  1 - t_p . y_p
    squared        sum_p  |y_p - t_p|^2
    log            -sum_p  t_p . log y_p

Holes and padding count nowhere: not in log-probabilities, costs, entropies or the supervised loss.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from enstruct.randomness import generator
from enstruct.spaces.base import Cost, IndependentParts
from enstruct.spaces.costs import EPS, squared_gradient

TINY = 1e-20
"""Below it a probability counts as this: the slope of -y log y at 0 is infinite, and times 0 no number."""


def total(y: Tensor) -> Tensor:
    """(batch, samples), over places and classes."""
    return y.flatten(2).sum(-1)


def _hamming(y: Tensor, t: Tensor) -> Tensor:
    return total(t) - total(y * t)


def _hamming_gradient(y: Tensor, t: Tensor) -> Tensor:
    return (-t).expand_as(y)


def _squared(y: Tensor, t: Tensor) -> Tensor:
    return total((y - t).square())


def _log(y: Tensor, t: Tensor) -> Tensor:
    return -total(t * y.clamp(min=EPS).log())


def _log_gradient(y: Tensor, t: Tensor) -> Tensor:
    return -t / y.clamp(min=EPS) * (y >= EPS)


COSTS: dict[str, Cost] = {
    "hamming-sum": Cost(_hamming, _hamming_gradient),
    "hamming-mean": Cost(_hamming, _hamming_gradient, averaged=True),
    "squared": Cost(_squared, squared_gradient),
    "log": Cost(_log, _log_gradient),
}


@dataclass(frozen=True)
class SimplexSpace(IndependentParts):
    """K classes a place, with a task cost in ``costs``."""

    n_classes: int
    cost_name: str = "hamming-sum"
    costs: ClassVar[Mapping[str, Cost]] = COSTS
    outputs: ClassVar[str] = "classes"

    def relax(self, logits: Tensor) -> Tensor:
        return torch.softmax(logits, dim=-1)

    def supervised_loss(self, logits: Tensor, truth: Tensor, mask: Tensor | None = None) -> Tensor:
        """Cross-entropy summed over places: logits, truth (batch, *places, classes) -> (batch,).

        Of a place that may have any of several classes, truth 1 at each of them, the loss is -log of their whole probability.
        """
        several = truth.sum(-1, keepdim=True) > 1 + EPS
        if not several.is_cuda and not bool(several.any()):  # CUDA would have to be waited for
            return -self.log_prob(truth.unsqueeze(1), logits, mask).squeeze(1)
        alone = -self.log_prob(truth.masked_fill(several, 0.0).unsqueeze(1), logits, mask).squeeze(1)
        agreeing = torch.logsumexp(logits.masked_fill(truth == 0, -torch.inf).where(several, 0.0), -1, keepdim=True)
        open_ = torch.where(several, torch.logsumexp(logits, -1, keepdim=True) - agreeing, 0.0)
        return alone + (open_ if mask is None else open_ * mask).flatten(1).sum(1)

    def log_prob(self, y: Tensor, logits: Tensor, mask: Tensor | None = None) -> Tensor:
        """(batch, samples) log-probability of one-hot y under independent classes."""
        log_p = F.log_softmax(logits, dim=-1)
        if log_p.is_cuda or bool(log_p.isneginf().any()):  # classes that are ruled out: they cost nothing where y has another
            chosen = y if mask is None else y * mask.unsqueeze(1)
            costs_nothing = log_p.isneginf().unsqueeze(1) & (chosen == 0)
            return total(torch.where(costs_nothing, 0.0, log_p.unsqueeze(1)) * chosen)
        if mask is not None:
            log_p = log_p * mask
        return torch.matmul(y.flatten(2), log_p.flatten(1).unsqueeze(-1)).squeeze(-1)

    @torch.no_grad()
    def sample(self, logits: Tensor, n: int, mask: Tensor | None = None) -> Tensor:
        """(batch, n, *places, classes) independent one-hot draws, zero in holes."""
        batch, *places, n_classes = logits.shape
        p = torch.softmax(logits, dim=-1).reshape(-1, n_classes)
        drawn = _draw(p, n).reshape(batch, -1, n).transpose(1, 2)
        y = F.one_hot(drawn.reshape(batch, n, *places), n_classes).to(logits.dtype)
        return y if mask is None else y * mask.unsqueeze(1)

    def concrete(self, logits: Tensor, n: int, temperature: float) -> Tensor:
        """(batch, n, *places, classes) relaxed draws, softmax((z + Gumbel noise) / temperature), differentiable in the logits."""
        gumbel = -(-self._uniform(logits, n).log()).log()
        return torch.softmax((logits.unsqueeze(1) + gumbel) / temperature, dim=-1)

    def _n_parts(self, truth: Tensor, mask: Tensor | None) -> Tensor:
        return total(truth.unsqueeze(1)).clamp(min=1)

    # -- the relaxed space as an optimiser sees it ------------------------------------------------

    def centre(self, batch: int, samples: int, like: Tensor, parts: tuple[int, ...]) -> Tensor:
        """(batch, samples, *parts, classes) of 1/K."""
        return torch.full((batch, samples, *parts, self.n_classes), 1 / self.n_classes, dtype=like.dtype, device=like.device)

    def blank(self, batch: int, samples: int, like: Tensor, parts: tuple[int, ...]) -> Tensor:
        """No class is nearer to nothing than another: the centre."""
        return self.centre(batch, samples, like, parts)

    def contains(self, y: Tensor) -> bool:
        """Every place on the simplex, or zero (a hole)."""
        sums = y.sum(-1)
        near = ((sums - 1).abs() < 1e-3) | (sums == 0)
        return bool((y >= 0).all() and near.all())

    def project(self, y: Tensor) -> Tensor:
        """The nearest point of the simplex, place by place (Held, Wolfe & Crowder 1974)."""
        y = y - y.amax(-1, keepdim=True)  # which changes nothing, but how large numbers are rounded
        ordered = y.sort(dim=-1, descending=True).values
        excess = ordered.cumsum(-1) - 1
        rank = torch.arange(1, y.shape[-1] + 1, dtype=y.dtype, device=y.device)
        support = (ordered * rank > excess).sum(-1, keepdim=True).clamp(min=1)  # 0 where y is no number
        threshold = excess.gather(-1, support - 1) / support
        return (y - threshold).clamp(min=0)

    def unrelax(self, y: Tensor) -> Tensor:
        """log y, clipped away from the boundary."""
        return y.clamp(min=EPS).log()

    def pull_back(self, y: Tensor, gradient: Tensor) -> Tensor:
        return y * (gradient - (gradient * y).sum(-1, keepdim=True))

    def decide(self, y: Tensor) -> Tensor:
        """The most probable class of each place, one-hot booleans; none where y is zero."""
        best = F.one_hot(y.argmax(-1), y.shape[-1]).bool()
        return best & (y.sum(-1, keepdim=True) > 0)

    def entropy(self, y: Tensor, logits: Tensor | None = None) -> Tensor:
        """(batch, samples); zero places have none."""
        return total(torch.special.entr(y.clamp(min=TINY)))

    def entropy_gradient(self, y: Tensor, logits: Tensor | None = None) -> Tensor:
        """-log y, which is the gradient up to a constant a place: on the simplex the constant has no effect."""
        return -(self.unrelax(y) if logits is None else F.log_softmax(logits, dim=-1))


def _draw(p: Tensor, n: int) -> Tensor:
    """(rows, n) classes by their probabilities (rows, classes). torch's own way has CUDA end the process where p is NaN."""
    source = generator(p.device)
    if not p.is_cuda:
        return torch.multinomial(p, n, replacement=True, generator=source)
    below = p.cumsum(-1)
    heights = torch.rand(len(p), n, dtype=p.dtype, device=p.device, generator=source) * below[:, -1:]
    return torch.searchsorted(below, heights, right=True).clamp(max=p.shape[-1] - 1)
