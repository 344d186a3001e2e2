"""Tag sequences as a distribution: a linear chain over what a tagger says of each token, exact in every answer of its own.

    E(x, y) = - a sum_t log q(y_t | x) + sum_t W[y_{t-1}, y_t] + start . y_1 + end . y_T         q: the tagger's probabilities

W, start and end are learnt on sentences that the tagger has not seen (:func:`fit_links`), by exact likelihood, and are infinite
where tags may not follow one another. Of a conditional random field the chain is the field itself; where that has terms beside
the chain its answers are sampled (:mod:`enstruct.inference.beyond_chain`). Told tags, or several that a token may have, leave a
smaller chain of the same kind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from enstruct.inference import beyond_chain
from enstruct.inference.beyond_chain import Parts, Rest
from enstruct.inference.chain import IMPOSSIBLE, Potentials, clamped, draw, energies, log_partition, marginals, viterbi

SENTENCES = 64
"""Of a block."""
TAUGHT = 1000
"""Sentences that links are learnt from at most, of all lengths: they are a few hundred numbers."""
DECAY = 1.0
"""Of W, start, end and how far a lies from 1, in nats over all sentences for a square of 1: pairs of tags of which little was
seen stay near 0."""
STEPS = 30
"""Of L-BFGS at most."""

PREFIX = "links/"
"""Of their names in a model file."""


class Links(NamedTuple):
    """``scale`` a (), ``transitions`` W (tags, tags), ``start`` and ``end`` (tags,): energies."""

    scale: Tensor
    transitions: Tensor
    start: Tensor
    end: Tensor

    @classmethod
    def none(cls, n_tags: int) -> Links:
        return cls(torch.ones(()), torch.zeros(n_tags, n_tags), torch.zeros(n_tags), torch.zeros(n_tags))

    def tensors(self) -> dict[str, Tensor]:
        """By the names that they have in a model file."""
        return {PREFIX + name: part for name, part in self._asdict().items()}

    @classmethod
    def parse(cls, tensors: Mapping[str, Tensor], n_tags: int) -> Self | None:
        """Those of a model file, None where it has none; ValueError where they are of other tags."""
        parts = {name: tensors[PREFIX + name] for name in cls._fields if PREFIX + name in tensors}
        shapes = {name: part.shape for name, part in cls.none(n_tags)._asdict().items()}
        if parts and {name: part.shape for name, part in parts.items()} != shapes:
            raise ValueError("its links are not those of its tags")
        return cls(**parts) if parts else None


class Costs(NamedTuple):
    """Of tags that follow one another (tags, tags), begin and end a sentence (tags,): nats, infinite of what is forbidden."""

    follow: Tensor
    start: Tensor
    end: Tensor

    @classmethod
    def of(cls, *parts: NDArray[np.float64]) -> Self:
        return cls(*map(torch.from_numpy, parts))

    @property
    def free(self) -> Costs:
        """Of nothing."""
        return Costs(*map(torch.zeros_like, self))

    @property
    def binding(self) -> Costs:
        """What is forbidden alone."""
        return Costs(*(torch.where(part.isinf(), part, 0.0) for part in self))

    def within(self, p: Potentials) -> Potentials:
        """The chain with them; what they forbid is impossible."""
        sums = (part + cost for part, cost in zip((p.transitions, p.start, p.end), self, strict=True))
        transitions, start, end = (part.clamp(max=IMPOSSIBLE) for part in sums)
        return p._replace(transitions=transitions, start=start, end=end)


def linked(log_q: Tensor, there: Tensor, links: Links) -> Potentials:
    """The chain over log-probabilities (batch, time, tags) of tokens that are ``there`` (batch, time)."""
    return Potentials(-links.scale * log_q, there, links.transitions, links.start, links.end)


def padded(
    values: NDArray[np.float64], offsets: NDArray[np.int64], most: int | None = None
) -> Iterator[tuple[NDArray[np.intp], Tensor, Tensor]]:
    """Sentences of about the same length together: (their numbers, values (batch, time, tags), ``there`` (batch, time)).

    ``most`` : so many of all lengths alone, in larger blocks.
    """
    lengths = np.diff(offsets)
    order, size = np.argsort(lengths, kind="stable"), SENTENCES
    order = order[lengths[order] > 0]
    if most is not None:
        order, size = order[np.linspace(0, len(order) - 1, min(most, len(order))).astype(int)], 4 * SENTENCES
    for first in range(0, len(order), size):
        some = order[first : first + size]
        out = torch.zeros(len(some), int(lengths[some].max()), values.shape[1], dtype=torch.float64)
        there = torch.zeros(out.shape[:2], dtype=torch.bool)
        for k, i in enumerate(some):
            out[k, : lengths[i]] = torch.from_numpy(np.asarray(values[offsets[i] : offsets[i + 1]], dtype=np.float64))
            there[k, : lengths[i]] = True
        yield some, out, there


def fit_links(log_q: NDArray[np.float64], allowed: NDArray[np.bool_], offsets: NDArray[np.int64], legal: Costs) -> Links:
    """The links of largest exact likelihood on so many sentences as TAUGHT at most, held near none by DECAY.

    log_q (tokens, tags): of sentences that the tagger has not learnt from; ``allowed`` (tokens, tags): the tags that each token
    may have as told, one where it is told, all where nothing is. Sentences that break what is legal teach nothing.
    """
    blocks = []
    allowed_blocks = padded(allowed.astype(np.float64), offsets, TAUGHT)
    for (_, values, there), (_, may, _) in zip(padded(log_q, offsets, TAUGHT), allowed_blocks, strict=True):
        plain = legal.within(linked(values, there, Links.none(values.shape[2])))
        possible = log_partition(clamped(plain, may > 0)) > -IMPOSSIBLE / 2
        whole = ((may.sum(2) == 1) | ~there).all(1)  # one sequence: its energy is all there is to sum
        for told, rows in ((True, possible & whole), (False, possible & ~whole)):
            if bool(rows.any()):
                blocks.append((values[rows], there[rows], may[rows] > 0, told))
    none = Links.none(log_q.shape[1])
    parameters = [part.double().requires_grad_() for part in none]
    optimizer = torch.optim.LBFGS(parameters, max_iter=STEPS, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        optimizer.zero_grad()
        links = Links(*parameters)
        total = DECAY * torch.stack([(part - at).square().sum() for part, at in zip(links, none, strict=True)]).sum()
        for values, there, may, told in blocks:
            chain = legal.within(linked(values, there, links))
            truth = energies(chain, may.to(torch.uint8).argmax(2)) if told else -log_partition(clamped(chain, may))
            total = total + (log_partition(chain) + truth).sum()
        total.backward()
        return total

    optimizer.step(loss)
    return Links(*(part.detach() for part in parameters))


class Block(NamedTuple):
    """Numbers of sentences, their chain, and what their energy has beside it."""

    some: NDArray[np.intp]
    chain: Potentials
    rest: Rest | None = None

    def narrowed(self, chain: Potentials) -> Block:
        """Of these sentences, what is left of their chain."""
        return self._replace(chain=chain)

    def rows(self, at: NDArray[np.intp]) -> Block:
        """Some of the sentences."""
        chain = self.chain._replace(unary=self.chain.unary[at], there=self.chain.there[at])
        if chain.transitions.dim() == 4:
            chain = chain._replace(transitions=chain.transitions[at])
        return Block(self.some[at], chain, None if self.rest is None else self.rest.rows(torch.from_numpy(at)))

    # -- each exact, or sampled where there is more than the chain -----------------------------------------

    def log_partition(self) -> Tensor:
        return log_partition(self.chain) if self.rest is None else beyond_chain.log_partition(Parts(*self[1:]), self.rest)

    def marginals(self) -> Tensor:
        return marginals(self.chain) if self.rest is None else beyond_chain.marginals(Parts(*self[1:]), self.rest)

    def best(self) -> Tensor:
        """(batch, time)."""
        return viterbi(self.chain).argmax(2) if self.rest is None else beyond_chain.lowest(Parts(*self[1:]), self.rest)

    def draw(self, n: int, generator: torch.Generator) -> Tensor:
        """(batch, n, time)."""
        if self.rest is None:
            return draw(self.chain, n, generator)
        seed = int(torch.randint(2**31, (1,), generator=generator))
        return beyond_chain.draw(Parts(*self[1:]), self.rest, n, seed)


@dataclass(frozen=True)
class ChainJoint:
    """exp(-E)/Z over the tag sequences of sentences. Answers are laid end to end by ``offsets`` (sentences + 1,), as (tokens,
    tags) or (tokens,); ``narrowed``: what leaves less of a block's chain than there is.

    ``allowed`` arguments (tokens, tags): which tags each token may have; None: any.
    """

    blocks: Sequence[Block]
    offsets: NDArray[np.int64]
    n_tags: int
    narrowed: Callable[[NDArray[np.intp], Potentials], Potentials] | None = None

    def of_one(self, i: int) -> ChainJoint:
        """Sentence i alone, which is sentence 0 there."""
        length, blocks = self.offsets[i + 1] - self.offsets[i], self.some(np.arange(len(self.offsets) - 1) == i).blocks
        blocks = [block._replace(some=np.zeros(1, dtype=np.intp)) for block in blocks]
        return replace(self, blocks=blocks, offsets=np.array([0, length]))

    def some(self, wanted: NDArray[np.bool_]) -> ChainJoint:
        """The sentences that are ``wanted`` (sentences,): others are answered by zeros."""
        places = [(block, np.flatnonzero(wanted[block.some])) for block in self.blocks]
        return replace(self, blocks=[block.rows(at) for block, at in places if len(at)])

    @torch.no_grad()
    def possible(self, allowed: NDArray[np.bool_] | None = None) -> NDArray[np.bool_]:
        """(sentences,) whether anything that is allowed is."""
        out = np.ones(len(self.offsets) - 1, dtype=bool)
        for block in self._clamped(allowed):
            out[block.some] = (log_partition(block.chain) > -IMPOSSIBLE / 2).numpy()
        return out

    @torch.no_grad()
    def log_partition(self, allowed: NDArray[np.bool_] | None = None) -> NDArray[np.float64]:
        """(sentences,), 0 of empty ones; -inf where nothing that is allowed is possible."""
        out = np.zeros(len(self.offsets) - 1)
        for block in self._clamped(allowed):
            value = block.log_partition().numpy()
            out[block.some] = np.where(value < -IMPOSSIBLE / 2, -np.inf, value)
        return out

    def marginals(self, allowed: NDArray[np.bool_] | None = None) -> NDArray[np.float64]:
        """(tokens, tags)."""
        out = np.zeros((int(self.offsets[-1]), self.n_tags))
        for block in self._clamped(allowed):
            self._put(out, block.some, block.marginals().numpy())
        return out

    @torch.no_grad()
    def decoded(self, allowed: NDArray[np.bool_] | None = None) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """((tokens,) the most probable sequences, (sentences,) whether there is one that is possible)."""
        out, possible = np.zeros(int(self.offsets[-1]), dtype=np.int64), np.ones(len(self.offsets) - 1, dtype=bool)
        for block in self._clamped(allowed):
            tags = block.best()
            possible[block.some] = (energies(block.chain, tags) < IMPOSSIBLE / 2).numpy()
            self._put(out, block.some, tags.numpy())
        return out, possible

    def sample(self, n: int, seed: int, allowed: NDArray[np.bool_] | None = None) -> NDArray[np.int64]:
        """(tokens, n) of sequences, independent from sentence to sentence; of one sentence too, where a chain is all there is."""
        out, generator = np.zeros((int(self.offsets[-1]), n), dtype=np.int64), torch.Generator().manual_seed(seed)
        for block in self._clamped(allowed):
            self._put(out, block.some, block.draw(n, generator).transpose(1, 2).numpy())
        return out

    def among(self, allowed: NDArray[np.bool_]) -> NDArray[np.float64]:
        """(variants, tokens, tags) the marginals of one sentence, whose tokens may have the tags ``allowed`` (variants, tokens,
        tags)."""
        (block,) = self._narrow()
        wide = block.rows(np.zeros(len(allowed), dtype=np.intp))
        may = F.pad(torch.from_numpy(allowed), (0, 0, 0, wide.chain.unary.shape[1] - allowed.shape[1]))
        return np.asarray(wide.narrowed(clamped(wide.chain, may)).marginals().numpy())[:, : allowed.shape[1]]

    def _narrow(self) -> Iterator[Block]:
        for block in self.blocks:
            yield block if self.narrowed is None else block.narrowed(self.narrowed(block.some, block.chain))

    def _clamped(self, allowed: NDArray[np.bool_] | None) -> Iterator[Block]:
        for block in self._narrow():
            if allowed is None:
                yield block
                continue
            may = torch.zeros(block.chain.unary.shape, dtype=torch.bool)
            for k, i in enumerate(block.some):
                may[k, : self.offsets[i + 1] - self.offsets[i]] = torch.from_numpy(allowed[self.offsets[i] : self.offsets[i + 1]])
            yield block.narrowed(clamped(block.chain, may))

    def _put(self, out: NDArray[Any], some: NDArray[np.intp], values: NDArray[Any]) -> None:
        for k, i in enumerate(some):
            out[self.offsets[i] : self.offsets[i + 1]] = values[k, : self.offsets[i + 1] - self.offsets[i]]
