"""What inference minimises, with its gradient in relaxed y:

    J(y) = E(x, y)  -  weight Δ(y, truth)  -  temperature H(y)

The middle term is SPEN's cost augmentation (eq. 8's inner problem), the last one its entropy term for soft predictions
(A.4). ``as_value`` puts -sigma(-E) in the place of E: the value that regression energies (DVN) are trained to give.
The energy's gradient comes by its own closed form, by autograd, or by either compiled; x is never seen again.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal, get_args

import torch
from torch import Tensor

from enstruct.energies.base import State
from enstruct.errors import ConfigError
from enstruct.spaces.base import RelaxedSpace

log = logging.getLogger("enstruct")

Gradient = Literal["auto", "closed-form", "autograd", "compiled"]
GRADIENTS: tuple[Gradient, ...] = get_args(Gradient)


@dataclass(frozen=True)
class InferenceObjective:
    """``truth`` (batch, ...) switches the cost on."""

    energy: Any
    state: State
    space: RelaxedSpace
    truth: Tensor | None = None
    temperature: float = 0.0
    as_value: bool = False
    gradient: Gradient = "auto"

    def __post_init__(self) -> None:
        if self.gradient == "closed-form" and not getattr(self.energy, "has_closed_form", False):
            raise ConfigError("This energy has no closed-form gradient in y; use gradient='auto' or 'autograd'.")

    def rows(self, index: Tensor) -> InferenceObjective:
        return replace(self, state=self.state.rows(index), truth=None if self.truth is None else self.truth[index])

    def value(self, y: Tensor, logits: Tensor | None = None) -> Tensor:
        """(batch, starts). ``logits``, where a rule keeps them, make the entropy cheaper."""
        value = self.energy(self.state, y)
        return self._less_cost_and_entropy(-torch.sigmoid(-value) if self.as_value else value, y, logits)

    def _less_cost_and_entropy(self, value: Tensor, y: Tensor, logits: Tensor | None) -> Tensor:
        """(batch, starts); holes have no entropy."""
        if self.truth is not None:
            value = value - self.space.cost(y, self.truth, self.state.mask)
        if self.temperature:
            entropy = self.space.entropy(self._existing(y), logits if self.state.mask is None else None)
            value = value - self.temperature * entropy
        return value

    def value_and_gradient(self, y: Tensor, logits: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """(batch, starts) and the shape of y."""
        value, gradient = self._of_energy(y)
        return self._less_cost_and_entropy(value, y, logits), self._slope_less_cost_and_entropy(gradient, y, logits)

    def gradient_alone(self, y: Tensor, logits: Tensor | None = None) -> Tensor:
        """The shape of y."""
        return self._slope_less_cost_and_entropy(self._of_energy(y)[1], y, logits)

    def _of_energy(self, y: Tensor) -> tuple[Tensor, Tensor]:
        """E or -sigma(-E), and its gradient."""
        closed = getattr(self.energy, "has_closed_form", False) and self.gradient != "autograd"
        plain = by_closed_form if closed else by_autograd
        value, gradient = (compiled(plain) if self.gradient == "compiled" else plain)(self.energy, self.state, y)
        if self.as_value:
            goodness = torch.sigmoid(-value)
            return -goodness, like_outputs(goodness * (1 - goodness), y) * gradient
        return value, gradient

    def _slope_less_cost_and_entropy(self, gradient: Tensor, y: Tensor, logits: Tensor | None) -> Tensor:
        if self.truth is not None:
            gradient = gradient - self.space.cost_gradient(y, self.truth, self.state.mask)
        if self.temperature:
            gradient = gradient - self.temperature * self._existing(self.space.entropy_gradient(y, logits))
        return gradient

    def _existing(self, tensor: Tensor) -> Tensor:
        """Zero in holes."""
        mask = self.state.mask
        return tensor if mask is None else tensor.masked_fill(mask.unsqueeze(1) == 0, 0.0)


def like_outputs(values: Tensor, y: Tensor) -> Tensor:
    """A value for each candidate (batch, starts), to multiply the candidates y (batch, starts, ...) with."""
    return values.view(*values.shape, *[1] * (y.dim() - 2))


def by_closed_form(energy: Any, state: State, y: Tensor) -> tuple[Tensor, Tensor]:
    value, gradient = energy.value_and_gradient(state, y)
    return value, gradient.expand_as(y)


def by_autograd(energy: Any, state: State, y: Tensor) -> tuple[Tensor, Tensor]:
    """Works under ``no_grad`` as well. Where y carries a graph the gradient does too, for unrolled training."""
    keep = torch.is_grad_enabled()
    with torch.enable_grad():
        at = y if y.requires_grad else y.detach().requires_grad_()
        value = energy(state, at)
        (gradient,) = torch.autograd.grad(value.sum(), at, create_graph=keep)
    return (value, gradient) if keep else (value.detach(), gradient)


class _Compiled:
    """``function`` through torch.compile; where the machine has no compiler, a logged fallback to the function itself."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function, self.usable = function, True
        self.fast: Callable[..., Any] | None = None

    def __call__(self, *arguments: Any) -> Any:
        if self.usable:
            try:
                with warnings.catch_warnings():  # importing the compiler warns of torch's own old parts
                    warnings.simplefilter("ignore", DeprecationWarning)
                    self.fast = self.fast or torch.compile(self.function)
                    return self.fast(*arguments)
            except Exception as error:  # torch raises many kinds here; the plain function gives the same numbers
                self.usable = False
                log.warning("torch.compile is not usable here (%s); inference goes on without it", _first_line(error))
        return self.function(*arguments)


@cache
def compiled(function: Callable[..., Any]) -> _Compiled:
    """One a function: compiling takes seconds."""
    return _Compiled(function)


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
