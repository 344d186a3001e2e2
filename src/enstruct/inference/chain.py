"""Exact inference on a linear chain: E(x, y) = sum_t y_t . u_t + sum_t y_{t-1}' W y_t + start . y_1 + end . y_T.

    viterbi          argmin_y E                                         best so far, forwards; then back along the pointers
    log_partition    log sum_y exp(-E), by the forward recursion        log Z
    marginals        P(y_t = k) = -d log Z / d u_tk                     forward-backward, by automatic differentiation
    draw             y ~ exp(-E)/Z                                      forwards, then each tag given the one behind it
    clamped          the same chain, told which tags each token may have
    thinned          the same chain, in which a tag is reached only from those that may stand before it

(Rabiner 1989.) They cost O(T K²), of thinned chains O(T K few), where a feed-forward predictor pays O(T K), and are the decoder
and the likelihood of the conditional random field, the baseline that energy-trained taggers are held against, and the oracle of
chain energies.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import torch
import torch.nn.functional as F
from torch import Tensor

from enstruct.energies.base import State, SumEnergy, Term
from enstruct.energies.chain import ChainEnergy, squeezed, tag_places
from enstruct.energies.local import LocalEnergy
from enstruct.errors import ConfigError

IMPOSSIBLE = 1e6
"""Energy of what cannot be: exp(-IMPOSSIBLE) is 0, and no sentence is so long that its tags cost as much."""


class Potentials(NamedTuple):
    """``unary`` (batch, time, tags) with the existing places first, ``there`` (batch, time) which they are, ``transitions``
    (tags, tags), or (batch, time - 1, tags, tags) where they differ from place to place, ``start`` and ``end`` (tags,); all
    energies, lower is better.

    ``before`` (few, tags), of thinned chains: the numbers of the only tags that may stand before each. ``transitions`` then have
    (few, tags) in place of (tags, tags): the k-th row's are from ``before[k]``."""

    unary: Tensor
    there: Tensor
    transitions: Tensor
    start: Tensor
    end: Tensor
    before: Tensor | None = None

    def into(self, t: int) -> Tensor:
        """(from, tags) or (batch, from, tags) from the tag at t - 1 to that at t."""
        return self.transitions if self.transitions.dim() == 2 else self.transitions[:, t - 1]

    def behind(self, values: Tensor) -> Tensor:
        """(batch, from, tags), or (batch, from, 1) for all tags alike, of the tags' ``values`` (batch, tags)."""
        if self.before is None:
            return values.unsqueeze(2)
        return values.index_select(1, self.before.flatten()).unflatten(1, self.before.shape)

    def named(self, rows: Tensor, tags: Tensor) -> Tensor:
        """The tag numbers that ``rows`` of the transitions into ``tags`` (alike in shape) come from."""
        return rows if self.before is None else self.before[rows, tags]

    def step(self, t: int, last: Tensor, tags: Tensor) -> Tensor:
        """(batch,) from the tags at t - 1, ``last`` (batch,), to those at t, ``tags`` (batch,)."""
        links, batch = self.into(t), torch.arange(len(tags), device=tags.device)
        links = links.expand(len(tags), -1, -1)
        if self.before is None:
            return links[batch, last, tags]
        into = links[batch, :, tags]  # (batch, few)
        return torch.where(last.unsqueeze(1) == self.before[:, tags].T, into, IMPOSSIBLE).amin(1)


def chain_potentials(energy: Any, state: State) -> Potentials:
    """What the algorithms read of an energy of terms local and chain; ConfigError for any other. Differentiable."""
    terms = cast(list[Term], list(energy.terms)) if isinstance(energy, SumEnergy) else []
    return potentials_of(terms, state.terms, state)


def potentials_of(terms: Sequence[Term], kept: Sequence[Tensor | None], state: State) -> Potentials:
    """Of these terms of an energy, and what they keep of a state."""
    local = [prepared for term, prepared in zip(terms, kept, strict=False) if isinstance(term, LocalEnergy)]
    chain = [term for term in terms if isinstance(term, ChainEnergy) and term.distance == 1]
    if len(terms) != 2 or not local or not chain:
        raise ConfigError(
            "Exact inference on a chain reads energies of the two terms 'local' and 'chain'; this one has others. Use "
            "EnergySpec(terms=('local', 'chain')), or gradient-based inference."
        )
    unary, links = cast(Tensor, local[0]), chain[0]
    places = tag_places(state.mask)
    there = torch.ones(unary.shape[:2], dtype=torch.bool, device=unary.device) if places is None else places >= 0
    unary = squeezed(unary.unsqueeze(1), places).squeeze(1)
    return Potentials(unary, there, links.transitions, cast(Tensor, links.start), cast(Tensor, links.end))


def log_partition(p: Potentials) -> Tensor:
    """(batch,) log sum over tag sequences of exp(-E); 0 where there is no token."""
    alpha = -p.unary[:, 0] - p.start  # (batch, tags)
    for t in range(1, p.unary.shape[1]):
        onward = torch.logsumexp(p.behind(alpha) - p.into(t), dim=1) - p.unary[:, t]
        alpha = torch.where(p.there[:, t : t + 1], onward, alpha)
    return torch.logsumexp(alpha - p.end, dim=1) * p.there[:, 0]


def clamped(p: Potentials, allowed: Tensor) -> Potentials:
    """With the tags that are not ``allowed`` (batch, time, tags) impossible."""
    return p._replace(unary=torch.where(allowed, p.unary, IMPOSSIBLE))


def thinned(p: Potentials) -> Potentials:
    """``transitions`` (tags, tags) that are impossible left out, where that leaves half of them or fewer."""
    possible = p.transitions < IMPOSSIBLE / 2
    few = max(int(possible.sum(0).max()), 1)
    if 2 * few > len(possible):
        return p
    # a tag that fewer may stand before has impossible ones beside them
    before = possible.to(torch.uint8).sort(dim=0, descending=True, stable=True).indices[:few]
    return p._replace(transitions=p.transitions.gather(0, before), before=before)


def energies(p: Potentials, tags: Tensor) -> Tensor:
    """(batch,) E of tag numbers (batch, time); what stands where there is no token is not read. In double precision."""
    tags, there = torch.where(p.there, tags, 0), p.there.double()
    value = (p.unary.double().gather(2, tags.unsqueeze(2)).squeeze(2) * there).sum(1)
    for t in range(1, tags.shape[1]):
        value = value + p.step(t, tags[:, t - 1], tags[:, t]).double() * there[:, t]
    last = (p.there.sum(1) - 1).clamp(min=0)
    ends = p.start.double()[tags[:, 0]] + p.end.double()[tags.gather(1, last.unsqueeze(1)).squeeze(1)]
    return value + ends * there[:, 0]


def draw(p: Potentials, n: int, generator: torch.Generator | None) -> Tensor:
    """(batch, n, time) tag numbers of independent samples, from row to row too; 0 where there is no token."""
    batch, time = p.there.shape
    return drawn(p, torch.rand(time, batch, n, generator=generator, dtype=torch.float64).to(p.unary.device))


@torch.no_grad()
def drawn(p: Potentials, uniform: Tensor) -> Tensor:
    """(batch, n, time) as :func:`draw`, by ``uniform`` (time, batch, n): a sentence's last tag by the last of them."""
    time, _, n = uniform.shape
    forward = [-p.unary[:, 0] - p.start]
    for t in range(1, time):
        onward = torch.logsumexp(p.behind(forward[-1]) - p.into(t), dim=1) - p.unary[:, t]
        forward.append(torch.where(p.there[:, t : t + 1], onward, forward[-1]))
    tag = _drawn((forward[-1] - p.end).unsqueeze(1).expand(-1, n, -1), uniform[time - 1])
    out = [tag]
    for t in range(time - 1, 0, -1):
        scores = (p.behind(forward[t - 1]) - p.into(t)).transpose(1, 2)  # (batch, to, from)
        scores = scores.gather(1, tag.unsqueeze(2).expand(-1, -1, scores.shape[2]))
        last = p.named(_drawn(scores, uniform[t - 1]), tag)
        tag = torch.where(p.there[:, t : t + 1], last, tag)  # beyond the end: stay
        out.append(tag)
    return torch.stack(out[::-1], dim=2) * p.there.unsqueeze(1)


def _drawn(scores: Tensor, uniform: Tensor) -> Tensor:
    """(batch, n) numbers by log-weights (batch, n, tags) and ``uniform`` (batch, n)."""
    cumulative = torch.softmax(scores.double(), 2).cumsum(2)
    u = (uniform * cumulative[..., -1]).unsqueeze(2).contiguous()
    return torch.searchsorted(cumulative, u).squeeze(2).clamp(max=scores.shape[2] - 1)


def marginals(p: Potentials) -> Tensor:
    """(batch, time, tags) of exp(-E)/Z; zero where there is no token."""
    with torch.enable_grad():
        unary = p.unary.detach().requires_grad_()
        total = log_partition(p._replace(unary=unary)).sum()
        (slope,) = torch.autograd.grad(total, unary)
    return -slope


def viterbi(p: Potentials) -> Tensor:
    """(batch, time, tags) one-hot sequences of lowest energy; zero where there is no token."""
    time, n_tags = p.unary.shape[1:]
    best = p.unary[:, 0] + p.start
    pointers = []
    for t in range(1, time):
        value, row = (p.behind(best) + p.into(t)).min(1)
        pointer = p.named(row, torch.arange(n_tags, device=row.device))
        here = p.there[:, t : t + 1]
        best = torch.where(here, value + p.unary[:, t], best)
        pointers.append(torch.where(here, pointer, torch.arange(n_tags, device=pointer.device)))  # beyond the end: stay
    tag = (best + p.end).argmin(1)
    tags = [tag]
    for pointer in reversed(pointers):
        tag = pointer.gather(1, tag.unsqueeze(1)).squeeze(1)
        tags.append(tag)
    return F.one_hot(torch.stack(tags[::-1], dim=1), n_tags).to(p.unary.dtype) * p.there.unsqueeze(-1)
