"""Where the candidates come from that an energy is trained against.

| source | candidates a row | log-probability |
|---|---|---|
| ``PredictorPoint`` | the predictor's relaxed output, or its rounding | no |
| ``PredictorSamples`` | K binary draws from the predictor | yes |
| ``PerturbedSamples`` | K - 1 outputs with Gaussian noise on the logits, and the output itself | no |
| ``CostAugmentedNet`` | the output of a small net on [sigma(logits), y], trained to find low energy at high cost | no |

Every source is a value: ``source.build(space)`` gives the running object, a module so that a
source may own parameters. None of them passes a gradient to the predictor.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from enstruct.errors import ConfigError
from enstruct.spaces.base import OutputSpace
from enstruct.spaces.label_vectors import Labels, LabelVectors, stack


class Candidates(NamedTuple):
    """``y`` (batch, K, ...), ``log_noise`` (batch, K) and ``log_noise_truth`` (batch,) if the source has them."""

    y: Labels
    log_noise: Tensor | None = None
    log_noise_truth: Tensor | None = None


class NegativeSource(nn.Module):
    """A running source. Sources without parameters learn nothing; see :class:`AugmentedNet` for one that does."""

    def draw(self, logits: Tensor, truth: Tensor, mask: Tensor | None) -> Candidates:
        raise NotImplementedError  # every source defines it


class Negatives(Protocol):
    """A source as data."""

    @property
    def has_noise(self) -> bool: ...

    def build(self, space: OutputSpace, n_outputs: int) -> NegativeSource: ...


@dataclass(frozen=True)
class PredictorPoint:
    """ȳ = F(x), SEAL Algorithm 1's singleton; ``rounded`` updates the energy on the hard decision instead."""

    rounded: bool = False
    has_noise = False

    def build(self, space: OutputSpace, n_outputs: int) -> NegativeSource:
        return _Point(space, self.rounded)


@dataclass(frozen=True)
class PredictorSamples:
    """y_k ~ P(y | F(x)), k = 1..``n``: discrete, exact, with log-probabilities."""

    n: int = 20
    has_noise = True

    def __post_init__(self) -> None:
        _check_count(self.n)

    def build(self, space: OutputSpace, n_outputs: int) -> NegativeSource:
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

    def build(self, space: OutputSpace, n_outputs: int) -> NegativeSource:
        return _Perturbed(space, self.n, self.std)


@dataclass(frozen=True)
class CostAugmentedNet:
    """The stacked cost-augmented network of InfNet+ and of the published SEAL-margin code."""

    has_noise = False

    def build(self, space: OutputSpace, n_outputs: int) -> NegativeSource:
        return AugmentedNet(space, n_outputs)


def _check_count(n: int) -> None:
    if n < 1:
        raise ConfigError(f"The number of samples must be at least 1, not {n}.")


class _Point(NegativeSource):
    def __init__(self, space: OutputSpace, rounded: bool) -> None:
        super().__init__()
        self.space, self.rounded = space, rounded

    def draw(self, logits: Tensor, truth: Tensor, mask: Tensor | None) -> Candidates:
        relaxed = self.space.relax(logits.detach()).unsqueeze(1)
        return Candidates((relaxed >= 0.5).to(relaxed.dtype) if self.rounded else relaxed)


class _Samples(NegativeSource):
    def __init__(self, space: OutputSpace, n: int) -> None:
        super().__init__()
        self.space, self.n = space, n

    def draw(self, logits: Tensor, truth: Tensor, mask: Tensor | None) -> Candidates:
        logits = logits.detach()
        y = self.space.sample(logits, self.n, mask)
        log_noise = self.space.log_prob(stack(LabelVectors.from_dense(truth.unsqueeze(1)), y), logits, mask)
        return Candidates(y, log_noise[:, 1:], log_noise[:, 0])


class _Perturbed(NegativeSource):
    def __init__(self, space: OutputSpace, n: int, std: float) -> None:
        super().__init__()
        self.space, self.n, self.std = space, n, std

    def draw(self, logits: Tensor, truth: Tensor, mask: Tensor | None) -> Candidates:
        point = logits.detach().unsqueeze(1)  # (batch, 1, labels)
        noise = torch.randn(point.shape[0], self.n - 1, point.shape[2], dtype=point.dtype, device=point.device)
        return Candidates(self.space.relax(torch.cat([point, point + self.std * noise], dim=1)))


class AugmentedNet(NegativeSource):
    """A(sigma(logits), y): 2L -> L softplus -> L logits; minimises E(x, ȳ) - cost(ȳ, y) where it stands."""

    def __init__(self, space: OutputSpace, n_outputs: int) -> None:
        super().__init__()
        self.space = space
        self.hidden = nn.Linear(2 * n_outputs, n_outputs)
        self.out = nn.Linear(n_outputs, n_outputs)

    def propose(self, logits: Tensor, truth: Tensor) -> Tensor:
        """(batch, 1, outputs), differentiable in the net's parameters."""
        seen = torch.cat([self.space.relax(logits.detach()), truth], dim=-1)
        return self.space.relax(cast(Tensor, self.out(F.softplus(self.hidden(seen))))).unsqueeze(1)

    def draw(self, logits: Tensor, truth: Tensor, mask: Tensor | None) -> Candidates:
        return Candidates(self.propose(logits, truth).detach())

    def loss(self, energies: Tensor, cost: Tensor) -> Tensor:
        """(batch,) what the net minimises: energies and costs (batch, 1) of its proposals."""
        return (energies - cost).squeeze(1)
