r"""Tag sequences: one of K tags at every token, relaxed to a point of the simplex, independent given the logits.

    y          (batch, samples, time, tags)      one-hot, relaxed on the simplex; zero in holes
    truth      (batch, time, tags)               one-hot, zero in holes
    mask       (batch, time, 1)                  1 where there is a token to tag: padding, and holes anywhere, the first place too

    log P(y)   = sum_t  y_t . log softmax(z_t)           (z = logits)
    H(y)       = -sum_t sum_k  y_tk log y_tk

Costs of a relaxed sequence y against a true one t, summed over tokens ("hamming-mean": averaged over them):

    hamming-sum    sum_t  1 - t_t . y_t
    squared        sum_t  |y_t - t_t|^2
    log            -sum_t  t_t . log y_t

Holes and padding count nowhere: not in log-probabilities, costs, entropies or the supervised loss.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from enstruct.errors import unknown_name
from enstruct.spaces.costs import EPS

TINY = 1e-20
"""Below it a probability counts as this: the slope of -y log y at 0 is infinite, and times 0 no number."""
Value = Callable[[Tensor, Tensor], Tensor]


def _hamming(y: Tensor, t: Tensor) -> Tensor:
    return t.sum((-2, -1)) - (y * t).sum((-2, -1))


def _hamming_gradient(y: Tensor, t: Tensor) -> Tensor:
    return (-t).expand_as(y)


def _squared(y: Tensor, t: Tensor) -> Tensor:
    return (y - t).square().sum((-2, -1))


def _squared_gradient(y: Tensor, t: Tensor) -> Tensor:
    return 2 * (y - t)


def _log(y: Tensor, t: Tensor) -> Tensor:
    return -(t * y.clamp(min=EPS).log()).sum((-2, -1))


def _log_gradient(y: Tensor, t: Tensor) -> Tensor:
    return -t / y.clamp(min=EPS) * (y >= EPS)


COSTS: dict[str, tuple[Value, Value]] = {
    "hamming-sum": (_hamming, _hamming_gradient),
    "hamming-mean": (_hamming, _hamming_gradient),
    "squared": (_squared, _squared_gradient),
    "log": (_log, _log_gradient),
}


@dataclass(frozen=True)
class TagSpace:
    """K tags a token, with a task cost in ``COSTS``."""

    n_tags: int
    cost_name: str = "hamming-sum"

    def __post_init__(self) -> None:
        if self.cost_name not in COSTS:
            raise unknown_name("cost of tag sequences", self.cost_name, COSTS)

    def relax(self, logits: Tensor) -> Tensor:
        return torch.softmax(logits, dim=-1)

    def supervised_loss(self, logits: Tensor, truth: Tensor, mask: Tensor | None = None) -> Tensor:
        """Cross-entropy summed over tokens: logits, truth (batch, time, tags) -> (batch,)."""
        return -self.log_prob(truth.unsqueeze(1), logits, mask).squeeze(1)

    def log_prob(self, y: Tensor, logits: Tensor, mask: Tensor | None = None) -> Tensor:
        """(batch, samples) log-probability of one-hot y under independent tags."""
        log_p = F.log_softmax(logits, dim=-1)
        if mask is not None:
            log_p = log_p * mask
        return torch.matmul(y.flatten(2), log_p.flatten(1).unsqueeze(-1)).squeeze(-1)

    @torch.no_grad()
    def sample(self, logits: Tensor, n: int, mask: Tensor | None = None) -> Tensor:
        """(batch, n, time, tags) independent one-hot draws, zero in holes."""
        batch, time, n_tags = logits.shape
        p = torch.softmax(logits, dim=-1).reshape(-1, n_tags)
        drawn = torch.multinomial(p, n, replacement=True).reshape(batch, time, n).transpose(1, 2)
        y = F.one_hot(drawn, n_tags).to(logits.dtype)  # (batch, n, time, tags)
        return y if mask is None else y * mask.unsqueeze(1)

    def concrete(self, logits: Tensor, n: int, temperature: float) -> Tensor:
        """(batch, n, time, tags) relaxed draws, softmax((z + Gumbel noise) / temperature), differentiable in the logits."""
        u = torch.rand(len(logits), n, *logits.shape[1:], dtype=logits.dtype, device=logits.device)
        u = u.clamp(torch.finfo(u.dtype).tiny, 1 - torch.finfo(u.dtype).eps)
        return torch.softmax((logits.unsqueeze(1) - (-u.log()).log()) / temperature, dim=-1)

    def cost(self, y: Tensor, truth: Tensor, mask: Tensor | None = None) -> Tensor:
        """(batch, samples); "hamming-mean" lies in [0, 1]."""
        t = truth if mask is None else truth * mask
        y = y if mask is None else y * mask.unsqueeze(1)
        return COSTS[self.cost_name][0](y, t.unsqueeze(1)) / self._unit(t)

    def cost_gradient(self, y: Tensor, truth: Tensor, mask: Tensor | None = None) -> Tensor:
        """(batch, samples, time, tags) gradient of ``cost`` in relaxed y."""
        t = truth if mask is None else truth * mask
        gradient = COSTS[self.cost_name][1](y, t.unsqueeze(1))
        unit = self._unit(t)
        gradient = gradient / (unit if isinstance(unit, int) else unit.unsqueeze(-1).unsqueeze(-1))
        return gradient if mask is None else gradient * mask.unsqueeze(1)

    def _unit(self, truth: Tensor) -> Tensor | int:
        """(batch, 1) number of tokens, for the averaged cost."""
        return truth.sum((-2, -1)).clamp(min=1).unsqueeze(1) if self.cost_name == "hamming-mean" else 1

    # -- the relaxed space as an optimiser sees it ------------------------------------------------

    def centre(self, batch: int, samples: int, like: Tensor, parts: tuple[int, ...]) -> Tensor:
        """(batch, samples, time, tags) of 1/K; ``parts`` is (time,)."""
        return torch.full((batch, samples, *parts, self.n_tags), 1 / self.n_tags, dtype=like.dtype, device=like.device)

    def blank(self, batch: int, samples: int, like: Tensor, parts: tuple[int, ...]) -> Tensor:
        """No tag is nearer to nothing than another: the centre."""
        return self.centre(batch, samples, like, parts)

    def contains(self, y: Tensor) -> bool:
        """Every place on the simplex, or zero (a hole)."""
        total = y.sum(-1)
        near = ((total - 1).abs() < 1e-3) | (total == 0)
        return bool((y >= 0).all() and near.all())

    def project(self, y: Tensor) -> Tensor:
        """The nearest point of the simplex, token by token (Held, Wolfe & Crowder 1974)."""
        ordered = y.sort(dim=-1, descending=True).values
        excess = ordered.cumsum(-1) - 1
        rank = torch.arange(1, y.shape[-1] + 1, dtype=y.dtype, device=y.device)
        support = (ordered * rank > excess).sum(-1, keepdim=True)
        threshold = excess.gather(-1, support - 1) / support
        return (y - threshold).clamp(min=0)

    def unrelax(self, y: Tensor) -> Tensor:
        """log y, clipped away from the boundary."""
        return y.clamp(min=EPS).log()

    def pull_back(self, y: Tensor, gradient: Tensor) -> Tensor:
        """A gradient in y as one in the logits: y = relax(z)."""
        return y * (gradient - (gradient * y).sum(-1, keepdim=True))

    def decide(self, y: Tensor) -> Tensor:
        """The most probable tag of each token, one-hot booleans; none where y is zero."""
        best = F.one_hot(y.argmax(-1), y.shape[-1]).bool()
        return best & (y.sum(-1, keepdim=True) > 0)

    def entropy(self, y: Tensor, logits: Tensor | None = None) -> Tensor:
        """(batch, samples); zero places have none."""
        return torch.special.entr(y.clamp(min=TINY)).sum((-2, -1))

    def entropy_gradient(self, y: Tensor, logits: Tensor | None = None) -> Tensor:
        """-log y, which is the gradient up to a constant a token: on the simplex the constant has no effect."""
        return -(self.unrelax(y) if logits is None else F.log_softmax(logits, dim=-1))
