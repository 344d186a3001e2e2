"""Generalised expectation criteria (Mann & McCallum 2010): what a person expects of the tokens that carry a feature.

    L_ge = sum_f  KL( g_f || p_f ),      p_f = mean over the batch's tokens with feature f of the tagger's probabilities

g_f is the person's distribution over tags. Tokens of labelled and unlabelled sentences count alike. The published criterion
takes the mean over the whole of the unlabelled text; here it is the batch's, so that a feature with few tokens in it pulls each
of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from enstruct.errors import ConfigError

EPS = 1e-6


@dataclass(frozen=True)
class Expectation:
    """``places(words)``: the tokens that carry the feature; ``tags``: probabilities, what is missing to 1 goes to the others."""

    name: str
    places: Callable[[Sequence[str]], Sequence[int]]
    tags: Mapping[str, float]

    def distribution(self, names: Sequence[str]) -> NDArray[np.float64]:
        """(tags,). ConfigError if the probabilities are none."""
        known = {tag: p for tag, p in self.tags.items() if tag in names}
        total = sum(known.values())
        if not 0 < total <= 1 + EPS or min(known.values()) < 0:
            raise ConfigError(f"The probabilities of the expectation {self.name!r} add up to {total:g}.")
        if len(known) == len(names):  # nothing is left to be shared out
            return np.array([known[tag] / total for tag in names])
        rest = (1 - total) / (len(names) - len(known))
        return np.array([known.get(tag, rest) for tag in names])


@dataclass(frozen=True)
class Expected:
    """``targets`` (features, tags). Indexed like the rows, which are sentences."""

    places: tuple[tuple[tuple[int, ...], ...], ...]  # sentence -> feature -> numbers of the tokens that carry it
    targets: NDArray[np.float64]

    def take(self, index: NDArray[np.int64]) -> Expected:
        return Expected(tuple(self.places[i] for i in index), self.targets)

    def divergence(self, logits: Tensor) -> Tensor:
        """L_ge of the tagger's logits (batch, time, tags); features that no token of the batch carries are left out."""
        p = torch.softmax(logits, dim=-1)
        total = p.new_zeros(())
        for f, target in enumerate(torch.from_numpy(self.targets).to(p)):
            rows = [(b, t) for b, features in enumerate(self.places) for t in features[f]]
            if rows:
                b, t = zip(*rows, strict=True)
                mean = p[list(b), list(t)].mean(0)
                total = total + (target * ((target + EPS).log() - (mean + EPS).log())).sum()
        return total


def _places(expectation: Expectation, words: Sequence[str]) -> tuple[int, ...]:
    places = tuple(expectation.places(words))
    if any(not 0 <= place < len(words) for place in places):
        raise ConfigError(f"An expectation names the tokens {[*places]} of a sentence of {len(words)}: they count from 0.")
    return places


def read_expectations(expectations: Sequence[Expectation], sentences: Sequence[Sequence[str]], tags: Sequence[str]) -> Expected:
    """Those that speak of these tags; ConfigError if none does."""
    known = [e for e in expectations if any(tag in tags for tag in e.tags)]
    if not known:
        raise ConfigError(f"None of the expectations speaks of the tags {', '.join(tags)}.")
    places = tuple(tuple(_places(e, words) for e in known) for words in sentences)
    return Expected(places, np.stack([e.distribution(tags) for e in known]))
