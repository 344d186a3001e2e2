"""Tag sequences as a distribution: a linear chain over what a tagger says of each token, exact in every answer.

    E(x, y) = - a sum_t log q(y_t | x) + sum_t W[y_{t-1}, y_t] + start . y_1 + end . y_T         q: the tagger's probabilities

W, start and end are learnt on sentences that the tagger has not seen (:func:`fit_links`), by exact likelihood, and are infinite
where tags may not follow one another. Of a conditional random field the chain is the field itself. Told tags, or several that a
token may have, leave a smaller chain of the same kind.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from enstruct.inference.chain import IMPOSSIBLE, Potentials, clamped, draw, energies, log_partition, marginals, viterbi

SENTENCES = 64
"""Of a block."""
DECAY = 1.0
"""Of W, start and end, in nats over all sentences for a square of 1: pairs of tags of which little was seen stay near 0."""
STEPS = 60
"""Of L-BFGS at most."""


class Links(NamedTuple):
    """``scale`` a (), ``transitions`` W (tags, tags), ``start`` and ``end`` (tags,): energies."""

    scale: Tensor
    transitions: Tensor
    start: Tensor
    end: Tensor

    @classmethod
    def none(cls, n_tags: int) -> Links:
        return cls(torch.ones(()), torch.zeros(n_tags, n_tags), torch.zeros(n_tags), torch.zeros(n_tags))


class Legal(NamedTuple):
    """Which tags may follow one another (tags, tags), begin and end a sentence (tags,)."""

    follow: Tensor
    start: Tensor
    end: Tensor

    def within(self, p: Potentials) -> Potentials:
        """What it forbids is impossible."""
        follow = torch.where(self.follow, p.transitions, IMPOSSIBLE)
        return p._replace(
            transitions=follow,
            start=torch.where(self.start, p.start, IMPOSSIBLE),
            end=torch.where(self.end, p.end, IMPOSSIBLE),
        )


def linked(log_q: Tensor, there: Tensor, links: Links) -> Potentials:
    """The chain over log-probabilities (batch, time, tags) of tokens that are ``there`` (batch, time)."""
    return Potentials(-links.scale * log_q, there, links.transitions, links.start, links.end)


def padded(values: NDArray[np.float64], offsets: NDArray[np.int64]) -> Iterator[tuple[NDArray[np.intp], Tensor, Tensor]]:
    """Sentences of about the same length together: (their numbers, values (batch, time, tags), ``there`` (batch, time))."""
    lengths = np.diff(offsets)
    order = np.argsort(lengths, kind="stable")
    order = order[lengths[order] > 0]
    for first in range(0, len(order), SENTENCES):
        some = order[first : first + SENTENCES]
        out = torch.zeros(len(some), int(lengths[some].max()), values.shape[1], dtype=torch.float64)
        there = torch.zeros(out.shape[:2], dtype=torch.bool)
        for k, i in enumerate(some):
            out[k, : lengths[i]] = torch.from_numpy(np.asarray(values[offsets[i] : offsets[i + 1]], dtype=np.float64))
            there[k, : lengths[i]] = True
        yield some, out, there


def fit_links(log_q: NDArray[np.float64], allowed: NDArray[np.bool_], offsets: NDArray[np.int64], legal: Legal) -> Links:
    """The links of largest exact likelihood, held near none by DECAY.

    log_q (tokens, tags): of sentences that the tagger has not learnt from; ``allowed`` (tokens, tags): the tags that each token
    may have as told, one where it is told, all where nothing is. Sentences that break what is legal teach nothing.
    """
    blocks = []
    allowed_blocks = padded(allowed.astype(np.float64), offsets)
    for (_, values, there), (_, may, _) in zip(padded(log_q, offsets), allowed_blocks, strict=True):
        plain = legal.within(linked(values, there, Links.none(values.shape[2])))
        possible = log_partition(clamped(plain, may > 0)) > -IMPOSSIBLE / 2
        blocks.append((values[possible], there[possible], may[possible] > 0))
    none = Links.none(log_q.shape[1])
    parameters = [part.double().requires_grad_() for part in none]
    optimizer = torch.optim.LBFGS(parameters, max_iter=STEPS, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        optimizer.zero_grad()
        links = Links(*parameters)
        total = DECAY * torch.stack([(part - at).square().sum() for part, at in zip(links, none, strict=True)]).sum()
        for values, there, may in blocks:
            chain = legal.within(linked(values, there, links))
            total = total + (log_partition(chain) - log_partition(clamped(chain, may))).sum()
        total.backward()
        return total

    optimizer.step(loss)
    return Links(*(part.detach() for part in parameters))


class ChainJoint:
    """exp(-E)/Z over the tag sequences of sentences; ``blocks`` of (their numbers, their chain). Answers are laid end to end by
    ``offsets`` (sentences + 1,), as (tokens, tags) or (tokens,).

    ``allowed`` arguments (tokens, tags): which tags each token may have; None: any.
    """

    def __init__(self, blocks: Sequence[tuple[NDArray[np.intp], Potentials]], offsets: NDArray[np.int64], n_tags: int) -> None:
        self.blocks, self.offsets, self.n_tags = blocks, offsets, n_tags

    @torch.no_grad()
    def log_partition(self, allowed: NDArray[np.bool_] | None = None) -> NDArray[np.float64]:
        """(sentences,), 0 of empty ones; -inf where nothing that is allowed is possible."""
        out = np.zeros(len(self.offsets) - 1)
        for some, chain in self._clamped(allowed):
            value = log_partition(chain).numpy()
            out[some] = np.where(value < -IMPOSSIBLE / 2, -np.inf, value)
        return out

    def marginals(self, allowed: NDArray[np.bool_] | None = None) -> NDArray[np.float64]:
        """(tokens, tags)."""
        out = np.zeros((int(self.offsets[-1]), self.n_tags))
        for some, chain in self._clamped(allowed):
            self._put(out, some, marginals(chain).numpy())
        return out

    @torch.no_grad()
    def mode(self, allowed: NDArray[np.bool_] | None = None) -> NDArray[np.int64]:
        """(tokens,) the most probable sequences."""
        out = np.zeros(int(self.offsets[-1]), dtype=np.int64)
        for some, chain in self._clamped(allowed):
            self._put(out, some, viterbi(chain).argmax(2).numpy())
        return out

    def sample(self, n: int, seed: int, allowed: NDArray[np.bool_] | None = None) -> NDArray[np.int64]:
        """(tokens, n) of independent sequences."""
        out = np.zeros((int(self.offsets[-1]), n), dtype=np.int64)
        for some, chain in self._clamped(allowed):
            self._put(out, some, draw(chain, n, torch.Generator().manual_seed(seed)).transpose(1, 2).numpy())
        return out

    @torch.no_grad()
    def energies(self, tags: NDArray[np.int64]) -> NDArray[np.float64]:
        """(sentences,) E of tag numbers (tokens,)."""
        out = np.zeros(len(self.offsets) - 1)
        for some, chain in self.blocks:
            out[some] = energies(chain, self._taken(tags, some, chain)).numpy()
        return out

    @torch.no_grad()
    def given_others(self, tags: NDArray[np.int64]) -> NDArray[np.float64]:
        """(tokens,) p(y_t | x, all other tags) of the tags (tokens,) as they are."""
        out = np.zeros(int(self.offsets[-1]))
        for some, chain in self.blocks:
            y, time = self._taken(tags, some, chain), chain.there.shape[1]
            scores = -chain.unary.clone()
            for t in range(time):
                if t == 0:
                    scores[:, 0] -= chain.start
                else:
                    links = chain.into(t).expand(len(y), -1, -1)
                    index = y[:, t - 1, None, None].expand(-1, 1, self.n_tags)
                    scores[:, t] -= links.gather(1, index).squeeze(1)
                behind = torch.zeros_like(scores[:, t]) + chain.end
                if t + 1 < time:
                    links = chain.into(t + 1).expand(len(y), -1, -1)
                    onward = links.gather(2, y[:, t + 1, None, None].expand(-1, self.n_tags, 1)).squeeze(2)
                    behind = torch.where(chain.there[:, t + 1, None], onward, behind)
                scores[:, t] -= behind
            p = torch.softmax(scores, 2).gather(2, y.unsqueeze(2)).squeeze(2)
            self._put(out, some, p.numpy())
        return out

    def _clamped(self, allowed: NDArray[np.bool_] | None) -> Iterator[tuple[NDArray[np.intp], Potentials]]:
        for some, chain in self.blocks:
            if allowed is None:
                yield some, chain
                continue
            may = torch.zeros(chain.unary.shape, dtype=torch.bool)
            for k, i in enumerate(some):
                may[k, : self.offsets[i + 1] - self.offsets[i]] = torch.from_numpy(allowed[self.offsets[i] : self.offsets[i + 1]])
            yield some, clamped(chain, may)

    def _taken(self, tags: NDArray[np.int64], some: NDArray[np.intp], chain: Potentials) -> Tensor:
        out = torch.zeros(chain.there.shape, dtype=torch.int64)
        for k, i in enumerate(some):
            out[k, : self.offsets[i + 1] - self.offsets[i]] = torch.from_numpy(tags[self.offsets[i] : self.offsets[i + 1]])
        return out

    def _put(self, out: NDArray[Any], some: NDArray[np.intp], values: NDArray[Any]) -> None:
        for k, i in enumerate(some):
            out[self.offsets[i] : self.offsets[i + 1]] = values[k, : self.offsets[i + 1] - self.offsets[i]]
