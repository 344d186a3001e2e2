"""Inference as a layer: a fixed number of steps with a graph, for training through them.

    y_0 = start;   y_t = rule(y_{t-1}, grad_y J(y_{t-1}));   the answer is y_T, the iterate that training saw

SPEN end-to-end (Belanger et al. 2017) unrolls mirror descent. With rate 1, no momentum and temperature 1 a step of it is
z <- -dE/dy, the parallel mean-field update: ``MEAN_FIELD`` is SPEN's deep mean field predictor (A.3), five of them
from one half. No iterate is compared with another on the way, which makes it the cheap way to refine a predictor's answer
by a few steps. The gradient of the energy in y enters each step; where the energy has it by closed form, one ordinary
backward pass trains through the whole of inference, otherwise autograd keeps the graph of each gradient.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Self

import torch
from torch import Tensor

from enstruct.energies.base import State
from enstruct.errors import ConfigError
from enstruct.inference.minimise import Solution, Solver, Start, check_start, check_steps, is_predictor, start_point
from enstruct.inference.objective import Gradient, InferenceObjective
from enstruct.inference.rules import MirrorDescent, Rule, kept_logits
from enstruct.spaces.base import RelaxedSpace


@dataclass(frozen=True)
class Unrolled(Solver):
    """``start`` is one of :data:`~enstruct.inference.minimise.STARTS` or a tensor (batch, ...) inside the space."""

    rule: Rule = field(default_factory=MirrorDescent)
    steps: int = 10
    start: Start = "predictor"
    temperature: float = 0.0
    as_value: bool = False
    gradient: Gradient = "auto"

    def __post_init__(self) -> None:
        check_steps(self)
        check_start("start", self.start)

    @property
    def needs_predictor(self) -> bool:
        return is_predictor(self.start)

    def resolve(self, predicted: Tensor) -> Self:
        return replace(self, start=predicted.detach()) if self.needs_predictor else self

    def iterates(self, energy: Any, state: State, space: RelaxedSpace) -> list[Tensor]:
        """y_1 .. y_T, each (batch, ...), differentiable in the energy and its state."""
        objective = self._objective(energy, state, space)
        y = start_point(self.start, energy, state, space)
        memory = self.rule.start(y, space)
        iterates = []
        for _ in range(self.steps):
            slope = objective.gradient_alone(y, kept_logits(self.rule, memory))
            memory, y = self.rule.step(memory, y, slope, space)
            iterates.append(y.squeeze(1))
        return iterates

    @torch.no_grad()
    def solve(self, energy: Any, state: State, space: RelaxedSpace, truth: Tensor | None = None) -> Solution:
        """The last iterate. ConfigError with a ``truth``: training through inference has no cost to augment with."""
        if truth is not None:
            raise ConfigError("Unrolled inference is not cost-augmented; use Inference, or UnrolledIterates as negatives.")
        y = self.iterates(energy, state, space)[-1]
        value = self._objective(energy, state, space).value(y.unsqueeze(1)).squeeze(1)
        steps = torch.full((state.batch,), self.steps, device=y.device)
        status = f"{self.steps} steps for {state.batch} rows."
        return Solution(y, value, steps, torch.zeros_like(steps, dtype=torch.bool), status)

    def _objective(self, energy: Any, state: State, space: RelaxedSpace) -> InferenceObjective:
        return InferenceObjective(
            energy, state, space, temperature=self.temperature, as_value=self.as_value, gradient=self.gradient
        )


MEAN_FIELD = Unrolled(MirrorDescent(1.0, 0.0), steps=5, start="uniform", temperature=1.0)
