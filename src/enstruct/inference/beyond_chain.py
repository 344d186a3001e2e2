"""Energies of tags that are a chain and more, answered by sampling.

    E(x, y) = E_chain(x, y) + R(x, y)          R: all terms but "local" and "chain"

The chain proposes and R decides. A stretch of a sentence is drawn from the chain, given the tags on both sides of it, which is
exact (forwards, then back), and taken with probability min(1, exp(R(y) - R(y'))): Metropolis and Hastings' rule for proposals
that are the chain's own conditionals, so that exp(-E) stays as it is. What is impossible in the chain (told tags, legality,
rules) is never proposed. From this one move follow

    marginals        means over chains and sweeps of p(y_t | all other tags), where R is linear in each tag; else of the tags
    draw             where so many chains are after SWEEPS sweeps
    log_partition    log Z_chain + log mean w,   w by annealing from E_chain to E (Neal 2001):  log w = -sum_k R(y_k) / steps
    lowest           the least energy seen while exp(-b E) cools, b from 1 to COLD, from draws and the chain's own best

Walks begin where annealing ends, each sentence's chains chosen by their weights. All of this is approximate, the more so the more
R says: under an R of several nats a token, chains stay near the sequences that they began with. All sentences have the same
uniform numbers, so that what is answered for one does not depend on the others it is asked with; draws that are to be independent
have their own.
"""

from __future__ import annotations

import copy
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, cast

import torch
import torch.nn.functional as F
from torch import Tensor

from enstruct.energies.base import State, SumEnergy, Term
from enstruct.energies.chain import ChainEnergy, spread, tag_places
from enstruct.energies.local import LocalEnergy
from enstruct.errors import ConfigError
from enstruct.inference import chain as exact
from enstruct.inference.chain import Potentials

log = logging.getLogger("enstruct")

CHAINS, MORE_CHAINS, SWEEPS, BURN_IN = 16, 64, 24, 4
"""Of a sentence; more of them where a chain tells no more than which tags it has."""
STEPS, ANNEALED = 20, 64
"""Of annealing, and chains that go through it."""
COOLING, COLD = 16, 12.0
"""Sweeps of cooling, and the last one's inverse temperature."""
STRETCHES = (8, 3)
"""Tokens of a stretch, sweep after sweep."""
WHOLE_STRETCHES = (24, 8)
"""Where a term looks at the whole sentence, which every stretch then pays for."""


@dataclass(frozen=True)
class Rest:
    """R of the sentences of a state: the sum of ``terms``. ``there`` (batch, time): which places have a tag, those of a sentence
    together at its front."""

    terms: tuple[Term, ...]
    state: State
    there: Tensor
    n_tags: int

    @property
    def linear(self) -> bool:
        """Whether R is linear in each tag, the others held."""
        return all(term.linear_in_tags for term in self.terms)

    def rows(self, index: Tensor) -> Rest:
        return Rest(self.terms, self.state.rows(index), self.there[index], self.n_tags)

    def cpu(self) -> Rest:
        """On the CPU, its terms copied where they are not there."""
        if self.there.device.type == "cpu":
            return self
        terms = tuple(copy.deepcopy(term).cpu() for term in self.terms)
        kept = tuple(None if part is None else part.cpu() for part in self.state.terms)
        mask = None if self.state.mask is None else self.state.mask.cpu()
        return Rest(terms, self.state._replace(terms=kept, mask=mask), self.there.cpu(), self.n_tags)

    def __call__(self, states: Tensor) -> Tensor:
        """(batch, n) R of states (batch, n, time), of which each stands for the tag that is its remainder."""
        return self.local(states, 0, states.shape[2]) + self.whole(states)

    def local(self, states: Tensor, begin: int, end: int) -> Tensor:
        """(batch, n) what terms of some reach say of the places from ``begin`` to ``end``, and of those that these reach."""
        out = torch.zeros(states.shape[:2], dtype=torch.float64, device=states.device)
        for term in self.terms:
            if term.reach is not None:
                here = slice(max(begin - term.reach, 0), end + term.reach)
                y, there = self._one_hot(states[:, :, here], here), self.there[:, here]
                # zeros beyond the end say nothing to what is linear
                places = None if term.linear_in_tags else torch.where(there, torch.arange(there.shape[1], device=y.device), -1)
                out = out + term(places, y)
        return out

    def whole(self, states: Tensor) -> Tensor:
        """(batch, n) what the other terms say, which look at the whole sentence."""
        out, pairs = torch.zeros(states.shape[:2], dtype=torch.float64, device=states.device), self._whole
        if pairs:
            y = spread(self._one_hot(states, slice(None)), tag_places(self.state.mask))
            for term, kept in pairs:
                out = out + term(kept, y)
        return out

    @property
    def _whole(self) -> list[tuple[Term, Tensor | None]]:
        return [pair for pair in zip(self.terms, self.state.terms, strict=True) if pair[0].reach is None]

    @torch.no_grad()
    def slopes(self, states: Tensor, n_states: int) -> Tensor:
        """(batch, n, time, states) R with each tag changed to each, up to a number a token; of a linear R."""
        y = self._one_hot(states, slice(None))
        slope = torch.stack([term.value_and_gradient(None, y)[1].expand_as(y) for term in self.terms]).sum(0)
        return slope.repeat(1, 1, 1, n_states // self.n_tags)

    def _one_hot(self, states: Tensor, here: slice) -> Tensor:
        like = next((p for term in self.terms for p in term.parameters()), torch.empty(0))
        y = F.one_hot(states % self.n_tags, self.n_tags).to(like.dtype)
        return y * self.there[:, None, here, None]


class Parts(NamedTuple):
    """``rest`` is None where there is nothing beside the chain."""

    chain: Potentials
    rest: Rest | None


def parted(energy: object, state: State) -> Parts:
    """An energy as a chain and what is beside it, differentiable. ConfigError for one that has no terms local and chain."""
    names = [term.name for term in cast(list[Term], list(energy.terms))] if isinstance(energy, SumEnergy) else []
    if not isinstance(energy, SumEnergy) or not {"local", "chain"} <= set(names):
        here = f"; this one has {', '.join(names)}" if names else ""
        raise ConfigError(
            "This answers for energies that have the terms 'local' and 'chain', and perhaps others beside them"
            f"{here}: use EnergySpec(terms=('local', 'chain', ...)), or gradient-based inference."
        )
    pairs = list(zip(cast(list[Term], list(energy.terms)), state.terms, strict=True))
    of_chain = [pair for pair in pairs if _is_of_chain(pair[0])]
    beside = [pair for pair in pairs if not _is_of_chain(pair[0])]
    chain = exact.potentials_of([term for term, _ in of_chain], [kept for _, kept in of_chain], state)
    if not beside:
        return Parts(chain, None)
    terms, kept = zip(*beside, strict=True)
    return Parts(chain, Rest(terms, state._replace(terms=kept), chain.there, chain.unary.shape[2]))


def _is_of_chain(term: Term) -> bool:
    return isinstance(term, LocalEnergy) or (isinstance(term, ChainEnergy) and term.distance == 1)


class Numbers:
    """Uniform numbers by the sweep and the place they are for, the same for all of ``rows`` sentences or each its own."""

    def __init__(self, seed: int, chains: int, rows: int | None = None) -> None:
        self.seed, self.chains, self.rows = seed, chains, 1 if rows is None else rows

    def at(self, sweep: int, place: int, n: int, device: torch.device) -> Tensor:
        """(n, rows, chains) in [0, 1)."""
        source = torch.Generator().manual_seed((self.seed * 1_000_003 + sweep * 10_007 + place) % 2**63)
        return torch.rand(n, self.rows, self.chains, dtype=torch.float64, generator=source).to(device)


class Walk:
    """Chains (batch, n) over the sentences of ``parts``, from ``states`` (batch, n, time).

    A walk at inverse temperatures ``beta`` (of the chain, of R) keeps exp(-beta[0] E_chain - beta[1] R).
    """

    def __init__(self, parts: Parts, rest: Rest, states: Tensor, numbers: Numbers) -> None:
        self.chain, self.rest, self.numbers = _folded(parts.chain), rest, numbers
        self.restart(states)
        self.done = 0
        self._beta = float("nan")

    def restart(self, states: Tensor) -> None:
        """Go on from these."""
        self.states, self._whole = states, self.rest.whole(states)
        self.value = self.rest.local(states, 0, states.shape[2]) + self._whole

    def sweep(self, beta: tuple[float, float] = (1.0, 1.0)) -> None:
        """Propose each stretch of the sentences once."""
        self._set_beta(beta[0])
        stretches = STRETCHES if all(term.reach is not None for term in self.rest.terms) else WHOLE_STRETCHES
        time, length = self.states.shape[2], stretches[self.done % len(stretches)]
        first = int(self.numbers.at(self.done, 0, 1, torch.device("cpu"))[0, 0, 0] * length)
        for number, begin in enumerate(range(first - length, time, length), 1):
            if begin + length > 0:
                self._move(begin, min(begin + length, time), number, beta[1])
        self.done += 1

    def _move(self, begin: int, end: int, number: int, beta: float) -> None:
        # the move's own, those of its last tag, and by place: what a sentence has is the same among longer ones
        own, last, *by_place = self.numbers.at(self.done, number, WHOLE_STRETCHES[0] + 2, self.states.device)
        begin, by_place = max(begin, 0), by_place[max(-begin, 0) :]
        proposed = self.states.clone()
        proposed[:, :, begin:end], possible = self._drawn(begin, end, [*by_place[: end - begin - 1], last])
        whole = self.rest.whole(proposed)
        more = self.rest.local(proposed, begin, end) - self.rest.local(self.states, begin, end) + whole - self._whole
        taken = possible & (own.log() < -beta * more)
        self.states = torch.where(taken.unsqueeze(2), proposed, self.states)
        self.value = torch.where(taken, self.value + more, self.value)
        self._whole = torch.where(taken, whole, self._whole)

    def _set_beta(self, beta: float) -> None:
        if beta == self._beta:
            return
        self._beta = beta
        unary = self.chain.unary.double()
        self._unary = (-beta * (unary - unary.amin(2, keepdim=True))).exp()  # (batch, time, states)
        links = self.chain.transitions.double()
        self._links = (-beta * (links - links.amin((-2, -1), keepdim=True))).exp()

    def _into(self, t: int) -> Tensor:
        """(from, to) or (batch, from, to) weights of the states at t - 1 and t."""
        return self._links if self._links.dim() == 2 else self._links[:, t - 1]

    def _drawn(self, begin: int, end: int, uniform: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
        """((batch, n, end - begin) of the chain, given the states on both sides, (batch, n) whether there are any whose weight is
        a number above zero)."""
        states, there = self.states, self.chain.there[:, begin:end]
        before = None if begin == 0 else _row(self._into(begin), states[:, :, begin - 1])
        forward = [self._unary[:, begin].unsqueeze(1) * (torch.ones((), dtype=torch.float64) if before is None else before)]
        forward[0] = _scaled(forward[0].expand(-1, states.shape[1], -1))
        for t in range(begin + 1, end):
            onward = _scaled((forward[-1] @ self._into(t)) * self._unary[:, t].unsqueeze(1))
            forward.append(torch.where(there[:, t - begin, None, None], onward, forward[-1]))
        weights = forward[-1]
        if end < states.shape[2]:  # beyond the sentence's end nothing links back
            behind = _column(self._into(end), states[:, :, end])
            weights = torch.where(self.chain.there[:, end, None, None], weights * behind, weights)
        state = _chosen(weights, uniform[-1])
        out = [state]
        for t in range(end - 1, begin, -1):
            last = _chosen(forward[t - 1 - begin] * _column(self._into(t), state), uniform[t - 1 - begin])
            state = torch.where(there[:, t - begin, None], last, state)
            out.append(state)
        return torch.stack(out[::-1], 2) * there.unsqueeze(1), weights.sum(2) > 0

    def conditionals(self) -> Tensor:
        """(batch, n, time, states) p(y_t | all others); of a linear R."""
        chain, states = self.chain, self.states
        n_states, links = chain.unary.shape[2], chain.transitions.double()
        cost = chain.unary.double().unsqueeze(1) + self.rest.slopes(states, n_states).double()
        linked = (chain.there[:, 1:, None] & chain.there[:, :-1, None]).unsqueeze(1)
        if links.dim() == 2:
            onward, back = links[states[:, :, :-1]], links.T[states[:, :, 1:]]
        else:
            onward = _gathered(links, states[:, :, :-1])
            back = _gathered(links.transpose(2, 3), states[:, :, 1:])
        cost[:, :, 1:] += onward * linked
        cost[:, :, :-1] += back * linked
        return torch.softmax(-cost, 3)

    def energies(self) -> Tensor:
        """(batch, n) E."""
        return chain_energies(self.chain, self.states) + self.value


def chain_energies(p: Potentials, states: Tensor) -> Tensor:
    """(batch, n) E of a chain that is not thinned at states (batch, n, time), differentiable."""
    y = F.one_hot(states, p.unary.shape[2]).to(p.unary.dtype) * p.there[:, None, :, None]
    last = (p.there.sum(1) - 1).clamp(min=0)
    ends = y[:, :, 0] @ p.start + y[torch.arange(len(y), device=y.device), :, last] @ p.end
    before, after = y[:, :, :-1].transpose(1, 2), y[:, :, 1:].transpose(1, 2)  # (batch, places, n, states)
    return (y * p.unary.unsqueeze(1)).sum((2, 3)) + (before @ p.transitions * after).sum((1, 3)) + ends


def _folded(p: Potentials) -> Potentials:
    """With what beginning and ending cost in the first and the last token's own energies."""
    unary = p.unary.clone()
    unary[:, 0] += p.start
    last = (p.there.sum(1) - 1).clamp(min=0)
    unary[torch.arange(len(unary), device=unary.device), last] += p.end
    return p._replace(unary=unary, start=torch.zeros_like(p.start), end=torch.zeros_like(p.end))


def _row(links: Tensor, states: Tensor) -> Tensor:
    """(batch, n, to) weights from states (batch, n)."""
    if links.dim() == 2:
        return links[states]
    return links.gather(1, states.unsqueeze(2).expand(-1, -1, links.shape[2]))


def _column(links: Tensor, states: Tensor) -> Tensor:
    """(batch, n, from) weights to states (batch, n)."""
    return _row(links.transpose(-2, -1), states)


def _gathered(links: Tensor, states: Tensor) -> Tensor:
    """(batch, n, places, states) of links (batch, places, states, states) at states (batch, n, places)."""
    index = states.transpose(1, 2).unsqueeze(3).expand(-1, -1, -1, links.shape[3])  # (batch, places, n, states)
    return links.gather(2, index).transpose(1, 2)


def _scaled(weights: Tensor) -> Tensor:
    return weights / weights.amax(-1, keepdim=True).clamp(min=torch.finfo(weights.dtype).tiny)


def _chosen(weights: Tensor, uniform: Tensor) -> Tensor:
    """(batch, n) states by weights (batch, n, states) and uniform (batch or 1, n)."""
    below = weights.cumsum(2)
    height = (uniform.expand(len(weights), -1) * below[..., -1]).unsqueeze(2)
    return (below <= height).sum(2).clamp(max=weights.shape[2] - 1)


def _start(parts: Parts, rest: Rest, numbers: Numbers) -> Walk:
    """Chains at draws of the chain alone, independent of one another."""
    batch, time = parts.chain.there.shape
    # the last tag's are those of place 0, whatever the length of the longest sentence
    device = parts.chain.unary.device
    uniform = torch.cat([numbers.at(-1, (t + 1) % time, 1, device) for t in range(time)]).expand(-1, batch, -1)
    return Walk(parts, rest, exact.drawn(parts.chain, uniform), numbers)


class Annealed(NamedTuple):
    """``start`` and ``end`` (batch, n, time) of every chain's way, and its log-weight (batch, n)."""

    start: Tensor
    log_weight: Tensor
    end: Tensor


@torch.no_grad()
def annealed(parts: Parts, rest: Rest, numbers: Numbers, steps: int) -> Annealed:
    """From the chain to the whole energy, in so many steps."""
    walk = _start(parts, rest, numbers)
    start = walk.states
    return Annealed(start, _anneal(walk, steps), walk.states)


def _anneal(walk: Walk, steps: int) -> Tensor:
    """(batch, n) log-weights of a walk that goes from the chain to the whole energy."""
    log_weight = torch.zeros_like(walk.value)
    for k in range(1, steps + 1):
        log_weight -= walk.value / steps
        walk.sweep((1.0, k / steps))
    return log_weight


def _burnt_in(parts: Parts, rest: Rest, numbers: Numbers) -> Walk:
    """After annealing, each sentence's chains chosen by their weights."""
    walk = _start(parts, rest, numbers)
    share = torch.softmax(_anneal(walk, BURN_IN), 1)
    rough = int((share.square().sum(1) > 0.5).sum())
    if rough and numbers.chains > 1:
        log.info("of %d of %d sentences one sampled sequence outweighs all others: answers are rough", rough, len(share))
    weights = share.cumsum(1)
    heights = (torch.arange(numbers.chains, device=weights.device) + 0.5) / numbers.chains * weights[:, -1:]
    chosen = torch.searchsorted(weights, heights.contiguous()).clamp(max=numbers.chains - 1)
    walk.restart(walk.states.gather(1, chosen.unsqueeze(2).expand_as(walk.states)))
    return walk


@torch.no_grad()
def marginals(parts: Parts, rest: Rest, seed: int = 0) -> Tensor:
    """(batch, time, states) of exp(-E)/Z; zero where there is no token."""
    walk = _burnt_in(parts, rest, Numbers(seed, CHAINS if rest.linear else MORE_CHAINS))
    n_states, total = parts.chain.unary.shape[2], torch.zeros_like(parts.chain.unary, dtype=torch.float64)
    for _ in range(SWEEPS):
        walk.sweep()
        total += (walk.conditionals() if rest.linear else F.one_hot(walk.states, n_states)).double().mean(1)
    return (total / SWEEPS * parts.chain.there.unsqueeze(2)).to(parts.chain.unary.dtype)


@torch.no_grad()
def draw(parts: Parts, rest: Rest, n: int, seed: int) -> Tensor:
    """(batch, n, time) states, independent from sentence to sentence; 0 where there is no token. Those of one sentence are chains
    that began together and went SWEEPS sweeps apart."""
    walk = _burnt_in(parts, rest, Numbers(seed, max(n, CHAINS), len(parts.chain.unary)))
    for _ in range(SWEEPS):
        walk.sweep()
    return walk.states[:, :n]


@torch.no_grad()
def log_partition(parts: Parts, rest: Rest, seed: int = 0) -> Tensor:
    """(batch,) an estimate of log sum over tag sequences of exp(-E); 0 where there is no token."""
    log_weight = annealed(parts, rest, Numbers(seed, ANNEALED), STEPS).log_weight
    value = torch.logsumexp(log_weight, 1) - torch.log(torch.tensor(float(ANNEALED)))
    return (exact.log_partition(parts.chain).double() + value) * parts.chain.there[:, 0]


@torch.no_grad()
def lowest(parts: Parts, rest: Rest, seed: int = 0) -> Tensor:
    """(batch, time) the states of the least energy that was found."""
    walk = _start(parts, rest, Numbers(seed, CHAINS))
    walk.restart(torch.cat([exact.viterbi(parts.chain).argmax(2).unsqueeze(1), walk.states[:, 1:]], 1))
    best, least = walk.states, walk.energies()
    for k in range(COOLING):
        beta = COLD ** (k / (COOLING - 1))
        walk.sweep((beta, beta))
        value = walk.energies()
        best = torch.where((value < least).unsqueeze(2), walk.states, best)
        least = torch.minimum(value, least)
    chosen = least.argmin(1)
    return best[torch.arange(len(best), device=best.device), chosen]
