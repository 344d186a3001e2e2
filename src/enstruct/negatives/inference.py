"""Candidates found by minimising the energy itself.

    InferencePoint     ȳ = argmin_y E(x, y) - Δ(y, truth)                      SPEN's SSVM (eq. 8); Δ off: a perceptron
    ValueTuples        inference, an adversarial output, and the truth          DVN (Gygli et al. 2017, section 3.2)
    UnrolledIterates   y_1 .. y_T of inference, with their graph                SPEN end-to-end (Belanger et al. 2017)

The adversarial output of DVN climbs the regression loss CE(v, q), with v = sigma(-E) and q the oracle's value of y held fixed,
whose gradient in y is -(v - q) dE/dy; the published code climbs v instead (its adversarial gradient is built and never used).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from enstruct.errors import ConfigError
from enstruct.inference.minimise import Inference, Solver, minimise
from enstruct.inference.objective import InferenceObjective, like_outputs
from enstruct.inference.rules import Rule
from enstruct.inference.unrolled import Unrolled
from enstruct.negatives.base import Candidates, NegativeSource, Situation
from enstruct.randomness import drawn_like
from enstruct.spaces.base import RelaxedSpace


@dataclass(frozen=True)
class InferencePoint:
    """``augmented`` subtracts the cost. ``inference`` may be an exact solver; starts may name "predictor".

    ``dropout``: of a predictor that gives starts, as of :class:`~enstruct.negatives.predictor.PredictorSamples`; for others
    nothing.
    """

    inference: Solver = field(default_factory=lambda: Inference(steps=20))
    augmented: bool = True
    dropout: bool = False
    has_noise = False
    differentiable = False

    def build(self, space: RelaxedSpace, n_outputs: int, predictor: nn.Module | None = None) -> NegativeSource:
        return _Minimiser(space, self)


@dataclass(frozen=True)
class ValueTuples:
    """``adversarial_steps`` of size ``rate`` from the truth or the blank output, a coin a row. Inference climbs v = sigma(-E).

    ``adversarial``: so many steps by another rule instead, from the blank output; the worst point on the way is taken, as in
    SEAL's code.
    """

    inference: Inference = field(default_factory=lambda: Inference(steps=20, as_value=True))
    rate: float = 0.5
    adversarial_steps: int = 1
    adversarial: Rule | None = None
    has_noise = False
    differentiable = False

    def __post_init__(self) -> None:
        if not self.rate > 0 or self.adversarial_steps < 1:
            raise ConfigError("ValueTuples needs a positive rate and at least one adversarial step.")

    def build(self, space: RelaxedSpace, n_outputs: int, predictor: nn.Module | None = None) -> NegativeSource:
        return _Tuples(space, self)


@dataclass(frozen=True)
class UnrolledIterates:
    """The last ``keep`` iterates of unrolled inference; ``detached``: as they are, without the way they came."""

    inference: Unrolled = field(default_factory=lambda: Unrolled(temperature=1.0))
    keep: int = 1
    detached: bool = False
    has_noise = False
    differentiable = False

    def __post_init__(self) -> None:
        if not 1 <= self.keep <= self.inference.steps:
            raise ConfigError(f"UnrolledIterates keeps 1..steps iterates, not {self.keep} of {self.inference.steps}.")

    def build(self, space: RelaxedSpace, n_outputs: int, predictor: nn.Module | None = None) -> NegativeSource:
        return _Unrolled(space, self)


class _Minimiser(NegativeSource):
    def __init__(self, space: RelaxedSpace, settings: InferencePoint) -> None:
        super().__init__()
        self.space, self.settings = space, settings

    def draw(self, at: Situation) -> Candidates:
        how = self.settings.inference.resolve(self.space.relax(at.logits))
        truth = at.truth if self.settings.augmented else None
        return Candidates(how.solve(at.energy, at.prepared().detached(), self.space, truth).y.unsqueeze(1))


class _Tuples(NegativeSource):
    def __init__(self, space: RelaxedSpace, settings: ValueTuples) -> None:
        super().__init__()
        self.space, self.settings = space, settings

    def draw(self, at: Situation) -> Candidates:
        how = self.settings.inference.resolve(self.space.relax(at.logits))
        found = minimise(at.energy, at.prepared(), self.space, settings=how).y
        adversarial = self._adversarial(at) if self.settings.adversarial is None else self._worst(at, self.settings.adversarial)
        return Candidates(torch.stack([found, adversarial, at.truth], dim=1))

    @torch.no_grad()
    def _adversarial(self, at: Situation) -> Tensor:
        """(batch, ...)."""
        objective = InferenceObjective(at.energy, at.prepared().detached(), self.space)
        blank = self.space.blank(len(at.truth), 1, at.truth, at.prepared().parts)
        coin = torch.rand(len(at.truth), *[1] * (at.truth.dim() - 1), **drawn_like(at.truth, torch.float32)) < 0.5
        y = torch.where(coin.unsqueeze(1), at.truth.unsqueeze(1), blank)
        for _ in range(self.settings.adversarial_steps):
            value, oracle, slope = self._judged(objective, y, at)
            y = self.space.project(y - self.settings.rate * like_outputs(value - oracle, y) * slope)
        return y.squeeze(1)

    @torch.no_grad()
    def _worst(self, at: Situation, rule: Rule) -> Tensor:
        """(batch, ...): of the start and the points before the last step, where the regression's loss is highest."""
        objective = InferenceObjective(at.energy, at.prepared().detached(), self.space)
        y = worst = self.space.blank(len(at.truth), 1, at.truth, at.prepared().parts)
        highest = torch.full_like(y.flatten(2)[:, :, 0], -torch.inf)
        memory = rule.start(y, self.space)
        for _ in range(self.settings.adversarial_steps):
            value, oracle, slope = self._judged(objective, y, at)
            loss = F.binary_cross_entropy(value, oracle, reduction="none")
            worst = torch.where(like_outputs(loss > highest, y), y, worst)
            highest = torch.maximum(loss, highest)
            memory, y = rule.step(memory, y, like_outputs(value - oracle, y) * slope, self.space)
        return worst.squeeze(1)

    def _judged(self, objective: InferenceObjective, y: Tensor, at: Situation) -> tuple[Tensor, Tensor, Tensor]:
        """(batch, 1) the energy's value v and the oracle's q, and the slope of E."""
        energy, slope = objective.value_and_gradient(y)
        cost = self.space.cost(y, at.truth, at.mask)
        if at.reward is not None:
            cost = at.reward.cost(cost, y, at.mask, averaged=True)
        return torch.sigmoid(-energy), 1 - cost, slope


class _Unrolled(NegativeSource):
    def __init__(self, space: RelaxedSpace, settings: UnrolledIterates) -> None:
        super().__init__()
        self.space, self.settings = space, settings

    def draw(self, at: Situation) -> Candidates:
        how = self.settings.inference.resolve(self.space.relax(at.logits))
        with torch.enable_grad():
            iterates = how.iterates(at.energy, at.prepared(), self.space)
        y = torch.stack(iterates[-self.settings.keep :], dim=1)
        return Candidates(y.detach() if self.settings.detached else y)
