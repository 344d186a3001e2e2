"""Candidates made from the predictor's output: the point itself, exact draws, noise on the logits."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn

from enstruct.errors import ConfigError
from enstruct.negatives.base import Candidates, NegativeSource, Situation
from enstruct.spaces.base import RelaxedSpace
from enstruct.spaces.label_vectors import LabelVectors, stack


@dataclass(frozen=True)
class PredictorPoint:
    """ȳ = F(x), SEAL Algorithm 1's singleton; ``rounded`` updates the energy on the hard decision instead."""

    rounded: bool = False
    has_noise = False

    def build(self, space: RelaxedSpace, n_outputs: int, predictor: nn.Module | None = None) -> NegativeSource:
        return _Point(space, self.rounded)


@dataclass(frozen=True)
class PredictorSamples:
    """y_k ~ P(y | F(x)), k = 1..``n``: discrete, exact, with log-probabilities."""

    n: int = 20
    has_noise = True

    def __post_init__(self) -> None:
        _check_count(self.n)

    def build(self, space: RelaxedSpace, n_outputs: int, predictor: nn.Module | None = None) -> NegativeSource:
        return _Samples(space, self.n)


@dataclass(frozen=True)
class PerturbedSamples:
    """sigma(logits + N(0, ``std``^2)), ``n`` - 1 of them, and the unperturbed output (SEAL regression-s)."""

    n: int = 10
    std: float = 1.0
    has_noise = False

    def __post_init__(self) -> None:
        _check_count(self.n)
        if not self.std > 0:
            raise ConfigError(f"The perturbation's standard deviation must be positive, not {self.std}.")

    def build(self, space: RelaxedSpace, n_outputs: int, predictor: nn.Module | None = None) -> NegativeSource:
        return _Perturbed(space, self.n, self.std)


def _check_count(n: int) -> None:
    if n < 1:
        raise ConfigError(f"The number of samples must be at least 1, not {n}.")


class _Point(NegativeSource):
    def __init__(self, space: RelaxedSpace, rounded: bool) -> None:
        super().__init__()
        self.space, self.rounded = space, rounded

    def draw(self, at: Situation) -> Candidates:
        relaxed = self.space.relax(at.logits.detach()).unsqueeze(1)
        return Candidates((relaxed >= 0.5).to(relaxed.dtype) if self.rounded else relaxed)


class _Samples(NegativeSource):
    def __init__(self, space: RelaxedSpace, n: int) -> None:
        super().__init__()
        self.space, self.n = space, n

    def draw(self, at: Situation) -> Candidates:
        logits = at.logits.detach()
        y = self.space.sample(logits, self.n, at.mask)
        log_noise = self.space.log_prob(stack(LabelVectors.from_dense(at.truth.unsqueeze(1)), y), logits, at.mask)
        return Candidates(y, log_noise[:, 1:], log_noise[:, 0])


class _Perturbed(NegativeSource):
    def __init__(self, space: RelaxedSpace, n: int, std: float) -> None:
        super().__init__()
        self.space, self.n, self.std = space, n, std

    def draw(self, at: Situation) -> Candidates:
        point = at.logits.detach().unsqueeze(1)  # (batch, 1, labels)
        noise = torch.randn(point.shape[0], self.n - 1, point.shape[2], dtype=point.dtype, device=point.device)
        return Candidates(self.space.relax(torch.cat([point, point + self.std * noise], dim=1)))
