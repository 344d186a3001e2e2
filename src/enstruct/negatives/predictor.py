"""Candidates made from the predictor's output: the point itself, exact draws, noise on the logits.

Whoever holds the predictor fixed passes detached logits; else the candidates carry a gradient to them: the point and the noisy
points by themselves, discrete draws by a sample gradient, the rounded point none.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from enstruct.errors import ConfigError
from enstruct.negatives.base import Candidates, Negatives, Situation
from enstruct.negatives.sample_gradients import SampleGradient, check_sample_gradient, straight_through
from enstruct.spaces.base import RelaxedSpace
from enstruct.spaces.label_vectors import Labels, beside, dense
from enstruct.validation import check_whole


@dataclass(frozen=True)
class PredictorPoint(Negatives):
    """ȳ = F(x), SEAL Algorithm 1's singleton; ``rounded`` updates the energy on the hard decision instead."""

    rounded: bool = False

    @property
    def differentiable(self) -> bool:
        return not self.rounded

    def draw(self, at: Situation, space: RelaxedSpace) -> Candidates:
        relaxed = space.relax(at.logits).unsqueeze(1)
        return Candidates(space.decide(relaxed).to(relaxed.dtype) if self.rounded else relaxed)


@dataclass(frozen=True)
class PredictorSamples(Negatives):
    """y_k ~ P(y | F(x)), k = 1..``n``: discrete, exact, with log-probabilities.

    ``gradient``: how they pass a gradient to the logits (:mod:`enstruct.negatives.sample_gradients`); None passes none.
    ``temperature`` is that of "concrete" samples, which are relaxed. ``spread`` > 1 draws from P(y | F(x) / spread), and gives
    the log-probabilities of that: a nearly certain predictor draws the truth alone, and an energy learns nothing of it.
    ``dropout``: whether a predictor that does not learn meanwhile keeps its dropout, and so is another network for every batch;
    one that learns has it anyway.
    """

    n: int = 20
    gradient: SampleGradient | None = None
    temperature: float = 0.5
    spread: float = 1.0
    dropout: bool = False
    has_noise = True

    def __post_init__(self) -> None:
        check_whole(1, n_samples=self.n)
        if not self.spread > 0:
            raise ConfigError(f"The spread of samples must be positive, not {self.spread}.")
        check_sample_gradient(self.gradient, self.temperature)

    @property
    def differentiable(self) -> bool:
        return self.gradient is not None

    @property
    def exact(self) -> bool:
        """Whether they are draws from the predictor's own distribution."""
        return self.spread == 1.0 and self.gradient != "concrete"

    def draw(self, at: Situation, space: RelaxedSpace) -> Candidates:
        logits = (at.logits if self.differentiable else at.logits.detach()) / self.spread
        y = self._candidates(logits, at.mask, space)
        log_noise = space.log_prob(beside(at.truth, y), logits, at.mask)  # (batch, 1 + n)
        score = log_noise[:, 1:] if self.gradient == "score-function" and logits.requires_grad else None
        return Candidates(y, log_noise[:, 1:], log_noise[:, 0], score)

    def _candidates(self, logits: Tensor, mask: Tensor | None, space: RelaxedSpace) -> Labels:
        """(batch, n, ...), sparse unless the gradient goes through their values."""
        if self.gradient == "concrete":
            return space.concrete(logits, self.n, self.temperature)
        y = space.sample(logits.detach(), self.n, mask)
        if self.gradient == "straight-through":
            return straight_through(dense(y, logits.dtype), space.relax(logits))
        return y


@dataclass(frozen=True)
class PerturbedSamples(Negatives):
    """sigma(logits + ``std`` noise), ``n`` - 1 of them, and the unperturbed output (SEAL regression-s).

    The noise is the space's: N(0, 1), independent where parts of an output vary independently, in patches for masks.
    """

    n: int = 10
    std: float = 1.0
    differentiable = True

    def __post_init__(self) -> None:
        check_whole(1, n_samples=self.n)
        if not self.std > 0:
            raise ConfigError(f"The perturbation's standard deviation must be positive, not {self.std}.")

    def draw(self, at: Situation, space: RelaxedSpace) -> Candidates:
        point = at.logits.unsqueeze(1)  # (batch, 1, ...)
        noise = space.noise(at.logits, self.n - 1)
        return Candidates(space.relax(torch.cat([point, point + self.std * noise], dim=1)))
