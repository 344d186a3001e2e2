"""The bilevel problem of one batch, and what every coupling of the two players has in common.

    min_phi  L_prim(theta*(phi), phi)      theta*(phi) = argmin_theta L_aux(theta, phi)

theta are the predictor's parameters, phi the energy's. L_prim ("outer") is the energy's objective, L_aux ("inner") what the
predictor minimises. A coupling says who moves when on a batch, and how  d L_prim / d phi  is taken; one file each.

Source: Shankar & Piratla, Implicit Training of Energy Model for Structured Prediction, eq. 4; derivation in docs/bilevel.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import torch
from torch import Tensor

from enstruct.errors import ConfigError, DivergenceError
from enstruct.validation import check_whole

Player = Literal["energy", "predictor"]
Parameters = tuple[Tensor, ...]
Gradients = tuple[Tensor | None, ...]


@dataclass
class Bilevel:
    """``outer`` and ``inner`` map predictor parameters to a scalar; both may depend on ``phi`` through closures.

    ``theta`` empty: the predictor is held fixed, and only the explicit term exists. ``logits`` maps predictor parameters to the
    predictor's output, and ``supervised`` that to the part of the inner loss that is convex in it, where both are known.
    ``memory`` holds the few numbers a coupling remembers from one outer step to the next (the scale of a series).
    """

    outer: Callable[[Parameters], Tensor]
    inner: Callable[[Parameters], Tensor]
    theta: Parameters
    phi: Parameters
    memory: dict[str, float] = field(default_factory=dict)
    logits: Callable[[Parameters], Tensor] | None = None
    supervised: Callable[[Tensor], Tensor] | None = None


@dataclass(frozen=True)
class Hypergradient:
    """``gradient``: one entry a parameter in phi, None where it has no part. ``report``: numbers for the history."""

    gradient: Gradients
    outer: Tensor
    report: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Coupling:
    """``rounds_per_batch`` times on one batch: ``energy_steps`` and ``predictor_steps`` updates, those of ``update_first`` first.

    The published systems' (nE, nF) is ``Alternating(energy_steps=nE, predictor_steps=1, rounds_per_batch=nF)``; the
    implicit-training paper's T_inner is ``Implicit(predictor_steps=T)``.
    """

    energy_steps: int = 1
    predictor_steps: int = 1
    update_first: Player = "energy"
    rounds_per_batch: int = 1
    through_predictor: ClassVar[bool] = True
    """Whether the gradient counts how the predictor reacts, so that candidates must carry a gradient to it."""

    def __post_init__(self) -> None:
        check_whole(1, **{name: getattr(self, name) for name in ("energy_steps", "predictor_steps", "rounds_per_batch")})
        if self.update_first not in ("energy", "predictor"):
            raise ConfigError(f"update_first must be 'energy' or 'predictor', not {self.update_first!r}.")

    def schedule(self) -> Iterator[Player]:
        """Who moves, update by update, on one batch."""
        energy: list[Player] = ["energy"] * self.energy_steps
        predictor: list[Player] = ["predictor"] * self.predictor_steps
        for _ in range(self.rounds_per_batch):
            yield from energy + predictor if self.update_first == "energy" else predictor + energy

    def gradient(self, problem: Bilevel) -> Hypergradient:
        """d L_prim / d phi at the problem's theta and phi."""
        raise NotImplementedError  # every coupling defines it


def explicit(problem: Bilevel, theta: Parameters) -> tuple[Tensor, Gradients, Parameters]:
    """(L_prim, ∂phi L_prim, ∂theta L_prim) at ``theta``; the graph stays, since the inner loss may share it."""
    outer = problem.outer(theta)
    gradients = torch.autograd.grad(outer, (*problem.phi, *theta), retain_graph=bool(theta), allow_unused=True)
    return outer, gradients[: len(problem.phi)], filled(gradients[len(problem.phi) :], theta)


def filled(gradients: Gradients, by: Parameters) -> Parameters:
    """Gradients with zeros where there is no path."""
    return tuple(torch.zeros_like(p) if g is None else g for p, g in zip(by, gradients, strict=True))


def added(first: Gradients, second: Gradients, scale: float = 1.0) -> Gradients:
    """``first + scale * second``, where None stands for zero."""

    def one(a: Tensor | None, b: Tensor | None) -> Tensor | None:
        if a is None or b is None:
            return a if b is None else scale * b
        return torch.add(a, b, alpha=scale)

    return tuple(map(one, first, second))


def norm(parts: Sequence[Tensor | None]) -> float:
    """Euclidean norm over all entries."""
    squares = [part.detach().square().sum() for part in parts if part is not None]
    return float(torch.stack(squares).sum().sqrt()) if squares else 0.0


def check_reaction(reaction: Gradients, remedy: str) -> None:
    """DivergenceError where the predictor's reaction is not finite."""
    size = norm(reaction)
    if not math.isfinite(size):
        raise DivergenceError(
            f"The implicit part of the energy's gradient became {size}. Try {remedy}, a smaller energy_weight, more predictor "
            "steps or smaller learning rates."
        )


def ratio(implicit: Gradients, plain: Gradients) -> float:
    """``||implicit|| / ||explicit||``; 0 if both vanish, inf if the explicit one does."""
    above, below = norm(implicit), norm(plain)
    return above / below if below else (float("inf") if above else 0.0)
