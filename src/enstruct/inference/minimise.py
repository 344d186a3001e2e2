"""The loop of gradient-based inference: minimise J(y) over the relaxed outputs, many rows and several starts at once.

    solution = minimise(energy, energy.prepare(x), space, MirrorDescent(), steps=50, tolerance=1e-3)

Each start's best iterate counts, the start and the final one included; a row's answer is its best start's. A row
has converged when every criterion asked for holds for all its starts: the objective's relative change is below
``tolerance``, and each of the last ``stable`` iterates has decided (rounded) as the one before it. Its answer is then final,
whatever the rest of the batch does, so that rows do not depend on each other; with ``share`` below 1 the batch ends when that
share of rows has converged (SPEN waits for 90%). Converged rows are dropped from the computation once they are half of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import torch
from torch import Tensor

from enstruct.energies.base import State
from enstruct.errors import ConfigError, DataError, shown
from enstruct.inference.objective import GRADIENTS, Gradient, InferenceObjective, compiled, like_outputs
from enstruct.inference.rules import Memory, MirrorDescent, Rule, kept_logits
from enstruct.randomness import drawn_like
from enstruct.spaces.base import RelaxedSpace
from enstruct.validation import not_negative, number, one_of, optional, positive, switch, whole

STRIDE = 4
"""Steps in one compiled piece: calling into it is no small part of a step."""
STARTS = ("uniform", "zeros", "random", "predictor")
Start = str | Tensor
MOST_STEPS = 1_000_000


@dataclass(frozen=True)
class Solution:
    """``y`` (batch, ...) and its ``energy`` (batch,), the objective minimised; ``steps`` (batch,) gradient steps until the
    row converged or the loop ended; ``converged`` (batch,); ``status``, a sentence.
    """

    y: Tensor
    energy: Tensor
    steps: Tensor
    converged: Tensor
    status: str


class Solver:
    """Anything that answers by the energy, as data: :class:`Inference`, or :class:`~enstruct.inference.exact.Exact`."""

    @property
    def needs_predictor(self) -> bool:
        """Whether a predictor's output is among the points that it starts from."""
        return False

    def resolve(self, predicted: Tensor) -> Self:
        """With a predictor's relaxed output in the place of the start "predictor"."""
        return self

    def solve(self, energy: Any, state: State, space: RelaxedSpace, truth: Tensor | None = None) -> Solution:
        """Minimise E(x, y) - Δ(y, truth); without ``truth`` there is no cost. ConfigError for what the solver cannot do."""
        raise NotImplementedError  # every solver defines it


def answered(
    energy: Any, state: State, space: RelaxedSpace, truth: Tensor | None, y: Tensor, converged: bool, status: str
) -> Solution:
    """The answer y (batch, ...) of a direct solver, with its E(x, y) - Δ(y, truth)."""
    value = energy(state, y.unsqueeze(1)).squeeze(1)
    if truth is not None:
        value = value - space.cost(y.unsqueeze(1), truth, state.mask).squeeze(1)
    steps = torch.ones(len(y), dtype=torch.int64, device=y.device)
    return Solution(y, value, steps, torch.full_like(steps, converged, dtype=torch.bool), status)


def check_steps(settings: Any) -> None:
    """ConfigError for what :class:`Inference` and its unrolled kin cannot take steps by."""
    if not hasattr(settings.rule, "step"):
        raise ConfigError(f"rule must be a rule of enstruct.inference, not {shown(settings.rule)}.")
    whole(1, MOST_STEPS)("steps", settings.steps)
    not_negative("temperature", settings.temperature)
    switch()("as_value", settings.as_value)
    one_of("inference gradient", GRADIENTS)("gradient", settings.gradient)


def check_start(name: str, start: Any) -> None:
    """ConfigError for what is no start."""
    if not isinstance(start, Tensor):
        one_of("start of inference", STARTS)(name, start)


def is_predictor(start: Start) -> bool:
    """Whether a predictor's output is to take the place of this start."""
    return isinstance(start, str) and start == "predictor"


@dataclass(frozen=True)
class Inference(Solver):
    """How to minimise, as data: the arguments of :func:`minimise` that are not the problem.

    tolerance, stable, share : when rows have converged, and when a batch ends, as above; None: that is not asked. ``stable`` is
        2 or more, and the start counts as an iterate.
    as_value : minimises -sigma(-E), the form regression energies are trained in.
    starts : of :data:`STARTS`, or tensors; "predictor" stands for a predictor's output, which :meth:`resolve` fills in.
    """

    rule: Rule = field(default_factory=MirrorDescent)
    starts: tuple[Start, ...] = ("uniform",)
    steps: int = 50
    tolerance: float | None = None
    stable: int | None = None
    share: float = 1.0
    temperature: float = 0.0
    as_value: bool = False
    compact: bool = True
    gradient: Gradient = "auto"

    def __post_init__(self) -> None:
        check_steps(self)
        if not isinstance(self.starts, (tuple, list)) or not self.starts:
            raise ConfigError(f"starts must be a tuple of starts of inference, one at least, not {shown(self.starts)}.")
        for start in self.starts:
            check_start("starts", start)
        number("share", self.share)
        if not 0 < self.share <= 1:
            raise ConfigError(f"The share of converged rows that ends a batch lies in (0, 1]; it is {self.share}.")
        optional(positive)("tolerance", self.tolerance)
        optional(whole(2, MOST_STEPS))("stable", self.stable)
        switch()("compact", self.compact)

    @property
    def needs_predictor(self) -> bool:
        return any(map(is_predictor, self.starts))

    def resolve(self, predicted: Tensor) -> Self:
        return replace(self, starts=tuple(predicted.detach() if is_predictor(start) else start for start in self.starts))

    def solve(self, energy: Any, state: State, space: RelaxedSpace, truth: Tensor | None = None) -> Solution:
        return minimise(energy, state, space, truth=truth, settings=self)

    @property
    def watches(self) -> bool:
        return self.tolerance is not None or self.stable is not None


def minimise(
    energy: Any,
    state: State,
    space: RelaxedSpace,
    rule: Rule | None = None,
    *,
    start: Start | Sequence[Start] | None = None,
    truth: Tensor | None = None,
    settings: Inference | None = None,
    **changes: Any,
) -> Solution:
    """Minimise ``E(x, y) - Δ(y, truth) - temperature H(y)``; without ``truth`` there is no cost.

    energy, state : an energy and its ``prepare(x)``; x is not seen again.
    space : where y lives, and its cost.
    rule : an update rule; default entropic mirror descent.
    start : "uniform" (the centre), "zeros", "random", a tensor (batch, ...) inside the space, or several of them.
    settings : an :class:`Inference`; ``changes`` are its fields, as steps, tolerance, stable, share, temperature.

    Parameters get no gradient. Raises ConfigError for settings, DataError for a start of another shape or outside the space.
    A non-finite objective stops its row at the last good iterate; ``status`` says so.
    """
    if rule is not None:
        changes["rule"] = rule
    if start is not None:
        changes["starts"] = (start,) if isinstance(start, (str, Tensor)) else tuple(start)
    settings = replace(settings or Inference(), **changes)
    # the loop compiles its whole step, the gradient inside included
    gradient: Gradient = "auto" if settings.gradient == "compiled" else settings.gradient
    with torch.no_grad():
        objective = InferenceObjective(energy, state.detached(), space, truth, settings.temperature, settings.as_value, gradient)
        y = torch.cat([start_point(start, energy, state, space) for start in settings.starts], dim=1)
        return _Run(objective, settings, y).run()


class _Run:
    """One call. ``rows`` are the row numbers still computed; ``active`` says which of them have not converged."""

    def __init__(self, objective: InferenceObjective, settings: Inference, y: Tensor) -> None:
        self.objective, self.settings, self.space = objective, settings, objective.space
        self.mask = objective.state.mask
        batch, starts = y.shape[:2]
        self.rows = torch.arange(batch, device=y.device)
        self.active = torch.ones(batch, dtype=torch.bool, device=y.device)
        self.y = y
        self.memory: Memory = settings.rule.start(y, self.space)
        self.best_y = y
        self.best = torch.full((batch, starts), torch.inf, dtype=y.dtype, device=y.device)
        self.last = torch.full_like(self.best, torch.nan)  # no change to speak of before the second value
        self.decision = self.space.decide(y)
        self.unchanged = torch.zeros(batch, dtype=torch.int64, device=y.device)
        # finished answers
        self.out_y, self.out_best = y.clone(), self.best.clone()
        self.out_steps = torch.zeros(batch, dtype=torch.int64, device=y.device)
        self.out_converged = torch.zeros(batch, dtype=torch.bool, device=y.device)
        self.diverged = torch.zeros(batch, dtype=torch.bool, device=y.device)

    def run(self) -> Solution:
        step = 0
        while step < self.settings.steps:
            move, n = self._next(step)
            point = (self.y, self.memory, self.best, self.best_y)
            value, self.best, self.best_y, memory, y = move(self.objective, self.settings.rule, *point, n)
            if self.settings.watches and self._settle(value, step):
                return self._solution()
            self.memory, self.y = memory, y
            step += n
            if self.settings.compact and self.settings.watches:
                self._compact()
        value = self.objective.value(self.y, kept_logits(self.settings.rule, self.memory))
        self.best, self.best_y = _better(value, self.y, self.best, self.best_y)
        if self.settings.watches:
            self._settle(value, step)
        else:
            self.diverged = ~torch.isfinite(value).all(1)
        self._finish(self.active, step, converged=False)
        return self._solution()

    def _next(self, step: int) -> tuple[Callable[..., Any], int]:
        """The function that moves on, and by how many steps: several at once where it is compiled and nothing is watched."""
        if self.settings.gradient != "compiled":
            return advance, 1
        if self.settings.watches:
            return compiled(advance), 1
        return (compiled(advance), STRIDE) if step + STRIDE <= self.settings.steps else (advance, 1)

    def _settle(self, value: Tensor, step: int) -> bool:
        """Finish rows that have converged or gone wrong; True when the batch is done."""
        wrong = ~torch.isfinite(value).all(1)
        done = torch.ones_like(wrong)
        if self.settings.tolerance is not None:
            change = (value - self.last).abs() <= self.settings.tolerance * torch.maximum(self.last.abs(), value.abs())
            done &= change.all(1)
        if self.settings.stable is not None:
            decision = self.space.decide(self.y)
            same = (decision == self.decision).flatten(1).all(1)
            self.unchanged = torch.where(same, self.unchanged + 1, torch.zeros_like(self.unchanged))
            self.decision = decision
            done &= self.unchanged >= self.settings.stable
        self.last = value
        self.diverged[self.rows[self.active & wrong]] = True
        self._finish(self.active & wrong, step, converged=False)
        self._finish(self.active & done & ~wrong, step, converged=True)
        n_active, n_rows = int(self.active.sum()), self.out_steps.numel()
        if n_active == 0 or n_rows - n_active >= self.settings.share * n_rows:
            self._finish(self.active, step, converged=False)
            return True
        return False

    def _finish(self, which: Tensor, step: int, converged: bool) -> None:
        rows = self.rows[which]
        self.out_y[rows], self.out_best[rows] = self.best_y[which], self.best[which]
        self.out_steps[rows], self.out_converged[rows] = step, converged
        self.active = self.active & ~which

    def _compact(self) -> None:
        """Drop finished rows from the computation once they are half of it."""
        if 2 * int(self.active.sum()) > self.active.numel():
            return
        keep = self.active.nonzero().squeeze(1)
        self.objective = self.objective.rows(keep)
        self.memory = tuple(tensor[keep] for tensor in self.memory)
        for name in ("rows", "active", "y", "best_y", "best", "last", "decision", "unchanged"):
            setattr(self, name, getattr(self, name)[keep])

    def _solution(self) -> Solution:
        energy, winner = self.out_best.min(1)
        y = self.out_y[torch.arange(len(winner), device=winner.device), winner]
        if self.mask is not None:
            y = y * self.mask
        return Solution(y, energy, self.out_steps, self.out_converged, self._status())

    def _status(self) -> str:
        n = self.out_steps.numel()
        parts = [f"{self.settings.steps} steps for {n} rows"]
        if self.settings.watches:
            steps = int(self.out_steps.max()) if n else 0
            parts = [f"{int(self.out_converged.sum())} of {n} rows converged within {steps} steps"]
        bad = int(self.diverged.sum())
        if bad:
            first = int(self.diverged.nonzero()[0])
            parts.append(
                f"the objective of {bad} rows became non-finite (first: row {first}); they keep their last good iterate: "
                "try a smaller rate"
            )
        if self.mask is not None:
            empty = int((self.mask.flatten(1).sum(1) == 0).sum())
            if empty:
                parts.append(f"{empty} rows have no output parts: their answer is empty")
        return "; ".join(parts) + "."


def advance(
    objective: InferenceObjective, rule: Rule, y: Tensor, memory: Memory, best: Tensor, best_y: Tensor, n: int
) -> tuple[Tensor, Tensor, Tensor, Memory, Tensor]:
    """n steps: the last value seen, the best iterate among the points left behind, the rule's memory and its new y."""
    value = best
    for _ in range(n):
        value, gradient = objective.value_and_gradient(y, kept_logits(rule, memory))
        best, best_y = _better(value, y, best, best_y)
        memory, y = rule.step(memory, y, gradient, objective.space)
    return value, best, best_y, memory, y


def _better(value: Tensor, y: Tensor, best: Tensor, best_y: Tensor) -> tuple[Tensor, Tensor]:
    """The better of the best iterate and y; NaN is never better."""
    better = value < best
    return torch.where(better, value, best), torch.where(like_outputs(better, y), y, best_y)


def _like(energy: Any, state: State) -> Tensor:
    """A tensor of the energy's precision and device."""
    for prepared in state.terms:
        if prepared is not None and prepared.is_floating_point():
            return prepared
    return next(energy.parameters(), torch.zeros(0))


def start_point(start: Start, energy: Any, state: State, space: RelaxedSpace) -> Tensor:
    """(batch, 1, ...) one start of inference. Raises ConfigError, DataError."""
    like = _like(energy, state)
    centre = space.centre(state.batch, 1, like, state.parts)
    if isinstance(start, Tensor):
        if start.shape != centre[:, 0].shape:
            raise DataError(f"A start of inference has the shape {tuple(centre[:, 0].shape)}, not {tuple(start.shape)}.")
        if not space.contains(start):
            raise DataError("A start of inference must lie inside the relaxed space (probabilities).")
        return start.detach().to(centre).unsqueeze(1)
    if start == "predictor":
        raise ConfigError("The start 'predictor' needs a predictor's output: pass the tensor itself, or Inference.resolve it.")
    if start == "zeros":
        return space.blank(state.batch, 1, like, state.parts)
    if start != "random":
        return centre
    return space.relax(torch.randn(centre.shape, **drawn_like(centre)))
