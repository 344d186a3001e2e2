"""Candidates found by minimising the energy itself.

    InferencePoint     ȳ = argmin_y E(x, y) - Δ(y, truth)                      SPEN's SSVM (eq. 8); Δ off: a perceptron
    ValueTuples        inference, an adversarial output, and the truth          DVN (Gygli et al. 2017, section 3.2)
    UnrolledIterates   y_1 .. y_T of inference, with their graph                SPEN end-to-end (Belanger et al. 2017)
    SearchPair         y⁺ and ŷ = argmin_y E(x, y), the better one first        SG-SPEN (Rooshenas et al. 2019)

The adversarial output of DVN climbs the regression loss CE(v, q), with v = sigma(-E) and q the oracle's value of y held fixed,
whose gradient in y is -(v - q) dE/dy; the published code climbs v instead (its adversarial gradient is built and never used).
y⁺ is the truth where it is known, else search(ŷ): what a search for reward makes of inference's answer.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch import Tensor

from enstruct.errors import ConfigError
from enstruct.inference.minimise import Inference, Solver, minimise
from enstruct.inference.objective import InferenceObjective, like_outputs
from enstruct.inference.rules import Rule
from enstruct.inference.unrolled import Unrolled
from enstruct.negatives.base import Candidates, Negatives, Situation
from enstruct.randomness import drawn_like
from enstruct.spaces.base import RelaxedSpace


@dataclass(frozen=True)
class InferencePoint(Negatives):
    """``augmented`` subtracts the cost. ``inference`` may be an exact solver; starts may name "predictor".

    ``dropout``: of a predictor that gives starts, as of :class:`~enstruct.negatives.predictor.PredictorSamples`; for others
    nothing.
    """

    inference: Solver = field(default_factory=lambda: Inference(steps=20))
    augmented: bool = True
    dropout: bool = False

    def draw(self, at: Situation, space: RelaxedSpace) -> Candidates:
        solver = self.inference.resolve(space.relax(at.logits))
        truth = at.truth if self.augmented else None
        return Candidates(solver.solve(at.energy, at.state.detached(), space, truth).y.unsqueeze(1))


@dataclass(frozen=True)
class ValueTuples(Negatives):
    """``adversarial_steps`` of size ``rate`` from the truth or the blank output, a coin a row. Inference climbs v = sigma(-E).

    ``adversarial``: so many steps by another rule instead, from the blank output; the worst point on the way is taken, as in
    SEAL's code.
    """

    inference: Inference = field(default_factory=lambda: Inference(steps=20, as_value=True))
    rate: float = 0.5
    adversarial_steps: int = 1
    adversarial: Rule | None = None

    def __post_init__(self) -> None:
        if not self.rate > 0 or self.adversarial_steps < 1:
            raise ConfigError("ValueTuples needs a positive rate and at least one adversarial step.")

    def draw(self, at: Situation, space: RelaxedSpace) -> Candidates:
        settings = self.inference.resolve(space.relax(at.logits))
        lowest = minimise(at.energy, at.state, space, settings=settings).y
        objective = InferenceObjective(at.energy, at.state.detached(), space)
        blank = space.blank(len(at.truth), 1, at.truth, at.state.parts)
        if self.adversarial is None:
            adversarial = self._climbed(objective, blank, at)
        else:
            adversarial = self._worst(objective, blank, at, self.adversarial)
        return Candidates(torch.stack([lowest, adversarial, at.truth], dim=1))

    @torch.no_grad()
    def _climbed(self, objective: InferenceObjective, blank: Tensor, at: Situation) -> Tensor:
        """(batch, ...)."""
        coin = torch.rand(len(at.truth), *[1] * (at.truth.dim() - 1), **drawn_like(at.truth, torch.float32)) < 0.5
        y = torch.where(coin.unsqueeze(1), at.truth.unsqueeze(1), blank)
        for _ in range(self.adversarial_steps):
            value, oracle, slope = _judged(objective, y, at)
            y = objective.space.project(y - self.rate * like_outputs(value - oracle, y) * slope)
        return y.squeeze(1)

    @torch.no_grad()
    def _worst(self, objective: InferenceObjective, blank: Tensor, at: Situation, rule: Rule) -> Tensor:
        """(batch, ...): of the start and the points before the last step, where the regression's loss is highest."""
        y = worst = blank
        highest = torch.full_like(y.flatten(2)[:, :, 0], -torch.inf)
        memory = rule.start(y, objective.space)
        for _ in range(self.adversarial_steps):
            value, oracle, slope = _judged(objective, y, at)
            loss = F.binary_cross_entropy(value, oracle, reduction="none")
            worst = torch.where(like_outputs(loss > highest, y), y, worst)
            highest = torch.maximum(loss, highest)
            memory, y = rule.step(memory, y, like_outputs(value - oracle, y) * slope, objective.space)
        return worst.squeeze(1)


def _judged(objective: InferenceObjective, y: Tensor, at: Situation) -> tuple[Tensor, Tensor, Tensor]:
    """(batch, 1) the energy's value v and the oracle's q, and the slope of E."""
    energy, slope = objective.value_and_gradient(y)
    cost = objective.space.cost(y, at.truth, at.mask)
    if at.reward is not None:
        cost = at.reward.cost(cost, y, at.mask, averaged=True)
    return torch.sigmoid(-energy), 1 - cost, slope


@dataclass(frozen=True)
class UnrolledIterates(Negatives):
    """The last ``keep`` iterates of unrolled inference; ``detached``: as they are, without the way they came."""

    inference: Unrolled = field(default_factory=lambda: Unrolled(temperature=1.0))
    keep: int = 1
    detached: bool = False

    def __post_init__(self) -> None:
        if not 1 <= self.keep <= self.inference.steps:
            raise ConfigError(f"UnrolledIterates keeps 1..steps iterates, not {self.keep} of {self.inference.steps}.")

    def draw(self, at: Situation, space: RelaxedSpace) -> Candidates:
        inference = self.inference.resolve(space.relax(at.logits))
        with torch.enable_grad():
            iterates = inference.iterates(at.energy, at.state, space)
        y = torch.stack(iterates[-self.keep :], dim=1)
        return Candidates(y.detach() if self.detached else y)


@dataclass(frozen=True)
class SearchPair(Negatives):
    inference: Solver = field(default_factory=lambda: Inference(steps=10, starts=("predictor",)))

    def draw(self, at: Situation, space: RelaxedSpace) -> Candidates:
        if at.reward is None:
            raise ConfigError("Search-guided training needs a reward: pass fit(..., reward=...).")
        solver = self.inference.resolve(space.relax(at.logits))
        answer = solver.solve(at.energy, at.state.detached(), space).y
        better = at.reward.completed(at.truth, answer, at.mask)
        return Candidates(torch.stack([better, answer], dim=1))
