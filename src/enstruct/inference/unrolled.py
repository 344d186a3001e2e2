"""Inference as a layer: a fixed number of steps with a graph, for training through them (SPEN end-to-end).

The gradient of the energy in y enters each step; where the energy has it by closed form, one ordinary backward
pass trains through the whole of inference, otherwise autograd keeps the graph of each gradient (a double backward).
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from enstruct.energies.base import State
from enstruct.inference.objective import Gradient, InferenceObjective
from enstruct.inference.rules import MirrorDescent, Rule
from enstruct.spaces.base import RelaxedSpace


def unroll(
    energy: Any,
    state: State,
    space: RelaxedSpace,
    start: Tensor,
    rule: Rule | None = None,
    steps: int = 20,
    temperature: float = 0.0,
    gradient: Gradient = "auto",
) -> list[Tensor]:
    """All iterates after the start (batch, ...), each (batch, ...), differentiable in the energy, its state and the start."""
    rule = rule or MirrorDescent()
    objective = InferenceObjective(energy, state, space, temperature=temperature, gradient=gradient)
    y = start.unsqueeze(1)
    memory = rule.start(y, space)
    iterates = []
    with torch.enable_grad():
        for _ in range(steps):
            _, slope = objective.value_and_gradient(y, memory[0] if rule.keeps_logits else None)
            memory, y = rule.step(memory, y, slope, space)
            iterates.append(y.squeeze(1))
    return iterates
