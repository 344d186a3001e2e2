"""Update rules of gradient-based inference: small values, one step each.

    mirror descent        v <- m v - r g,  z <- z + v,  y = relax(z)          z = logits of y
    projected gradient    v <- m v - r g,  y <- project(y + v)
    Adam on logits        Adam with the gradient in z,  y = relax(z)
    projected Adam        Adam with the gradient in y,  y <- project(y)       SEAL's gradient-based inference

g is the gradient of the objective in relaxed y. Mirror descent with the entropy as its mirror map is gradient
descent on the logits with the gradient of y (SPEN section 2; Beck & Teboulle 2003), so iterates stay inside the
space; momentum 0.95 and rate 0.1 are SPEN's (A.5). What a rule remembers is a tuple of tensors with the rows
first, so that rows can be dropped from it. Every step is differentiable, for unrolled training.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

import torch
from torch import Tensor

from enstruct.errors import ConfigError
from enstruct.spaces.base import RelaxedSpace
from enstruct.validation import positive

Memory = tuple[Tensor, ...]


class Rule(Protocol):
    """``start`` makes the memory for y (batch, starts, ...); ``step`` gives the new y. ``keeps_logits``: memory[0] holds them."""

    @property
    def keeps_logits(self) -> bool: ...

    def start(self, y: Tensor, space: RelaxedSpace) -> Memory: ...

    def step(self, memory: Memory, y: Tensor, gradient: Tensor, space: RelaxedSpace) -> tuple[Memory, Tensor]: ...


def kept_logits(rule: Rule, memory: Memory) -> Tensor | None:
    """Those of the present y, where the rule keeps them."""
    return memory[0] if rule.keeps_logits else None


@dataclass(frozen=True)
class _Descent:
    rate: float = 0.1
    momentum: float = 0.0

    def __post_init__(self) -> None:
        if not self.rate > 0 or not 0 <= self.momentum < 1:
            raise ConfigError(f"An inference rule needs rate > 0 and momentum in [0, 1), not {self.rate} and {self.momentum}.")

    def _velocity(self, velocity: Tensor, gradient: Tensor) -> Tensor:
        return torch.add(self.momentum * velocity, gradient, alpha=-self.rate)


@dataclass(frozen=True)
class MirrorDescent(_Descent):
    keeps_logits: ClassVar[bool] = True
    momentum: float = 0.95

    def start(self, y: Tensor, space: RelaxedSpace) -> Memory:
        return space.unrelax(y), torch.zeros_like(y)

    def step(self, memory: Memory, y: Tensor, gradient: Tensor, space: RelaxedSpace) -> tuple[Memory, Tensor]:
        logits, velocity = memory
        velocity = self._velocity(velocity, gradient)
        logits = logits + velocity
        return (logits, velocity), space.relax(logits)


HALF_DAMPED = MirrorDescent(rate=0.5, momentum=0.0)
"""At temperature 1 a step goes half of the way to what the slope says: a damped parallel mean-field update, and where the energy
has beliefs of pairs, a damped round of message passing."""


@dataclass(frozen=True)
class ProjectedGradient(_Descent):
    keeps_logits: ClassVar[bool] = False

    def start(self, y: Tensor, space: RelaxedSpace) -> Memory:
        return (torch.zeros_like(y),)

    def step(self, memory: Memory, y: Tensor, gradient: Tensor, space: RelaxedSpace) -> tuple[Memory, Tensor]:
        velocity = self._velocity(memory[0], gradient)
        return (velocity,), space.project(y + velocity)


@dataclass(frozen=True)
class _Adam:
    """Kingma & Ba (2015)."""

    rate: float = 0.3
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8

    def __post_init__(self) -> None:
        positive("rate", self.rate)

    def _moments(self, y: Tensor) -> Memory:
        count = torch.zeros(y.shape[0], *[1] * (y.dim() - 1), dtype=y.dtype, device=y.device)
        return torch.zeros_like(y), torch.zeros_like(y), count

    def _move(self, moments: Memory, slope: Tensor) -> tuple[Memory, Tensor]:
        """The moments, and what to subtract."""
        mean, square, count = moments
        count = count + 1
        mean = self.beta1 * mean + (1 - self.beta1) * slope
        square = self.beta2 * square + (1 - self.beta2) * slope.square()
        # epsilon inside the root as well as outside keeps the derivative finite where the slope is zero
        spread = (square / (1 - self.beta2**count) + self.epsilon**2).sqrt() + self.epsilon
        return (mean, square, count), self.rate * mean / (1 - self.beta1**count) / spread


@dataclass(frozen=True)
class AdamOnLogits(_Adam):
    """Its moments in the space of logits."""

    keeps_logits: ClassVar[bool] = True

    def start(self, y: Tensor, space: RelaxedSpace) -> Memory:
        return space.unrelax(y), *self._moments(y)

    def step(self, memory: Memory, y: Tensor, gradient: Tensor, space: RelaxedSpace) -> tuple[Memory, Tensor]:
        moments, move = self._move(memory[1:], space.pull_back(y, gradient))
        logits = memory[0] - move
        return (logits, *moments), space.relax(logits)


@dataclass(frozen=True)
class ProjectedAdam(_Adam):
    """Its moments in the relaxed outputs themselves, so that n steps move a label by about ``n rate`` at most."""

    keeps_logits: ClassVar[bool] = False
    rate: float = 0.1

    def start(self, y: Tensor, space: RelaxedSpace) -> Memory:
        return self._moments(y)

    def step(self, memory: Memory, y: Tensor, gradient: Tensor, space: RelaxedSpace) -> tuple[Memory, Tensor]:
        moments, move = self._move(memory, gradient)
        return moments, space.project(y - move)
