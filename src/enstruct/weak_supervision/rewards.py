"""A reward says how plausible a whole sequence of tags is for given words, in [0, 1]; nobody differentiates it.

    R(x, y) = sum_r w_r s_r(x, y) / sum_r w_r           over the rules r that apply to x and y, each with a score in [0, 1]

In training it joins the cost. With n tags in a sentence and e the share of wrong ones, the cost is

    labelled      n (e + 1 - R)  under margins,     (e + 1 - R) / 2  where a value in [0, 1] is learnt
    unlabelled    n (1 - R)                         1 - R

(token accuracy and reward together: implicit-training paper, citations; reward alone: Rooshenas et al. 2019).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from enstruct.errors import ConfigError, DataError
from enstruct.randomness import generator
from enstruct.weak_supervision.search import improve


class Reward(Protocol):
    """Anything with these two calls is a reward."""

    def read(self, words: Sequence[str]) -> Any:
        """What the reward keeps of a sentence, once."""

    def score(self, read: Any, tags: Sequence[str]) -> float:
        """In [0, 1], for a tag a word."""


def check_reward(value: float, what: str) -> float:
    """DataError for one that is not in [0, 1]: costs are made of it."""
    if not 0 <= value <= 1:
        raise DataError(f"A reward lies in [0, 1]; {what} gives {value}.")
    return value


@dataclass(frozen=True)
class Rule:
    """``score(read, tags)`` in [0, 1], or None where the rule has nothing to say."""

    name: str
    score: Callable[[Any, Sequence[str]], float | None]
    weight: float = 1.0


@dataclass(frozen=True)
class RuleReward:
    """The weighted mean of rules that apply; 0 if none does. ``reader``: words -> what the rules read."""

    rules: tuple[Rule, ...]
    reader: Callable[[Sequence[str]], Any]

    def read(self, words: Sequence[str]) -> Any:
        return self.reader(words)

    def score(self, read: Any, tags: Sequence[str]) -> float:
        total = weight = 0.0
        for rule in self.rules if tags else ():
            score = rule.score(read, tags)
            if score is not None:
                total += rule.weight * check_reward(score, f"the rule {rule.name!r}")
                weight += rule.weight
        return total / weight if weight else 0.0

    def explain(self, words: Sequence[str], tags: Sequence[str]) -> dict[str, float]:
        """The score of every rule that applies; none to no words."""
        if not tags:
            return {}
        read = self.read(words)
        scores = {rule.name: rule.score(read, tags) for rule in self.rules}
        return {name: score for name, score in scores.items() if score is not None}


@dataclass(frozen=True)
class Judged:
    """Sentences with their reward: what rows, and the batches made of them, know about plausible tags.

    ``read``: what the reward keeps of each sentence; ``labelled``: which of them have true tags; ``names``: numbers of tags to
    the user's tags, of which there are ``n_tags`` as trained; ``tries``: moves of a search.
    """

    reward: Reward
    read: tuple[Any, ...]
    labelled: NDArray[np.bool_]
    names: Callable[[NDArray[Any]], list[str]]
    n_tags: int
    tries: int = 40

    def take(self, index: NDArray[Any]) -> Judged:
        return replace(self, read=tuple(self.read[i] for i in index), labelled=self.labelled[index])

    def value(self, y: Tensor, mask: Tensor | None) -> Tensor:
        """(batch, samples) rewards of the most probable tags of y (batch, samples, time, tags)."""
        best, lengths = y.argmax(-1).cpu().numpy(), _lengths(y, mask)
        rows = [
            [check_reward(self._score(read, tags[:n]), "the reward's score") for tags in samples]
            for read, samples, n in zip(self.read, best, lengths, strict=True)
        ]
        return torch.tensor(rows, dtype=y.dtype, device=y.device)

    def improved(self, y: Tensor, mask: Tensor | None) -> Tensor:
        """(batch, time, tags) one-hot outputs of higher reward near y (batch, time, tags), or its own decision."""
        best, lengths = y.argmax(-1).cpu().numpy(), _lengths(y.unsqueeze(1), mask)
        rng = np.random.default_rng(int(torch.randint(2**31, (), generator=generator("cpu"))))
        for i, (read, n) in enumerate(zip(self.read, lengths, strict=True)):
            if n:
                score = partial(self._score, read)
                best[i, :n] = improve(best[i, :n], score, self.n_tags, self.tries, rng)
        one_hot = F.one_hot(torch.from_numpy(best), self.n_tags).to(y)
        return one_hot if mask is None else one_hot * mask

    def _score(self, read: Any, tags: NDArray[Any]) -> float:
        return self.reward.score(read, self.names(tags))

    def completed(self, truth: Tensor, y: Tensor, mask: Tensor | None) -> Tensor:
        """The truth where there is one; elsewhere what the search makes of y. All (batch, time, tags)."""
        if self.labelled.all():
            return truth
        unlabelled = np.flatnonzero(~self.labelled)
        index = torch.from_numpy(unlabelled).to(truth.device)
        completed = truth.clone()
        completed[index] = self.take(unlabelled).improved(y[index], None if mask is None else mask[index])
        return completed

    def cost(self, error: Tensor, y: Tensor, mask: Tensor | None, averaged: bool) -> Tensor:
        """(batch, samples) the cost above; ``error`` (batch, samples): wrong tags, or their share if ``averaged``."""
        lack = 1 - self.value(y, mask)
        known = torch.from_numpy(self.labelled).to(y).unsqueeze(1)
        if averaged:
            return torch.where(known > 0, (error + lack) / 2, lack)
        n = torch.as_tensor(_lengths(y, mask)).to(y).unsqueeze(1)
        return known * error + n * lack


def _lengths(y: Tensor, mask: Tensor | None) -> NDArray[np.int64]:
    if mask is None:
        return np.full(len(y), y.shape[2])
    there = mask.squeeze(-1).cpu().numpy() > 0
    lengths = there.sum(1)
    if any(there[i, n:].any() or not there[i, :n].all() for i, n in enumerate(lengths)):
        raise ConfigError("Rewards read whole sentences: tags of None (holes) cannot be combined with reward=.")
    return np.asarray(lengths)
