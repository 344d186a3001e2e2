"""Global and conditional energies: how labels hang together, by learned affine measurements of y through g.

    E_global(y)  = v . g(C y + b)                                                whatever x (SPEN eq. 5)
    E_cond(x, y) = d . g(D [y; f(x)] + b) = d . g(D_y y + (D_x f(x) + b))        changing with x (SPEN eq. 6)

with g in {softplus, relu, hardtanh, identity}. Their parameters grow linearly in the number of labels. What they share:

    z = g(y C + offset)                   C (labels, units)
    E = v . z                             one layer
    E = v . g(z A + a)                    two layers, A (units, units)

``convex=True`` keeps v and A non-negative (softplus of free parameters) and g convex and
non-decreasing, so that E is convex in y (Amos & Kolter 2016).

    dE/dy = (v * g'(z)) C'                                        one layer
    dE/dy = (((v * g'(z A + a)) A') * g'(y C + offset)) C'        two layers
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from enstruct.encoders.activations import ACTIVATIONS, check_activation
from enstruct.energies.base import Term
from enstruct.errors import ConfigError
from enstruct.spaces.label_vectors import Labels, project

CONVEX = ("softplus", "relu")
SLOPES: dict[str, Callable[[Tensor], Tensor]] = {
    "softplus": torch.sigmoid,
    "relu": lambda z: (z > 0).to(z.dtype),
    "hardtanh": lambda z: ((z > -1) & (z < 1)).to(z.dtype),
    "identity": torch.ones_like,
}


class Measurements(nn.Module):
    """``offset`` (broadcastable to (batch, samples, units)) is the caller's: a bias, or a function of x."""

    def __init__(self, n_labels: int, units: int, nonlinearity: str, layers: int, convex: bool) -> None:
        super().__init__()
        check_activation(nonlinearity)
        if layers not in (1, 2):
            raise ConfigError(f"A measurement energy has 1 or 2 layers, not {layers}.")
        if convex and nonlinearity not in CONVEX:
            raise ConfigError(f"{nonlinearity!r} is not convex and non-decreasing; with convex=True use one of {CONVEX}.")
        self.nonlinearity, self.convex = nonlinearity, convex
        self.matrix = nn.Parameter(torch.empty(n_labels, units))
        self.second = nn.Parameter(torch.empty(units, units)) if layers == 2 else None
        self.second_bias = nn.Parameter(torch.zeros(units)) if layers == 2 else None
        self.weights = nn.Parameter(torch.empty(units))
        nn.init.xavier_uniform_(self.matrix)
        if self.second is not None:
            nn.init.kaiming_uniform_(self.second, nonlinearity="relu")
        nn.init.normal_(self.weights, std=math.sqrt(2 / units))

    def forward(self, y: Labels, offset: Tensor) -> Tensor:
        return self._value(self._last(project(y, self.matrix) + offset))

    def value_and_gradient(self, y: Tensor, offset: Tensor) -> tuple[Tensor, Tensor]:
        """(batch, samples) and (batch, samples, labels)."""
        first = project(y, self.matrix) + offset  # (batch, samples, units)
        last = self._last(first)
        slope = SLOPES[self.nonlinearity]
        back = slope(last) * self._signed(self.weights)
        if self.second is not None:
            back = back @ self._signed(self.second).T * slope(first)
        return self._value(last), back @ self.matrix.T

    def _last(self, first: Tensor) -> Tensor:
        """What the outermost g is applied to."""
        if self.second is None or self.second_bias is None:
            return first
        return ACTIVATIONS[self.nonlinearity](first) @ self._signed(self.second) + self.second_bias

    def _value(self, last: Tensor) -> Tensor:
        return ACTIVATIONS[self.nonlinearity](last) @ self._signed(self.weights)  # (batch, samples)

    def _signed(self, parameter: Tensor) -> Tensor:
        return F.softplus(parameter) if self.convex else parameter


class _MeasuredEnergy(Term):
    has_closed_form = True

    def __init__(self, n_labels: int, units: int, nonlinearity: str, layers: int, convex: bool) -> None:
        super().__init__()
        self.measurements = Measurements(n_labels, units, nonlinearity, layers, convex)

    def _offset(self, prepared: Any) -> Any:
        return prepared

    def forward(self, prepared: Tensor | None, y: Labels) -> Tensor:
        return self.measurements(y, self._offset(prepared))

    def value_and_gradient(self, prepared: Tensor | None, y: Tensor) -> tuple[Tensor, Tensor]:
        return self.measurements.value_and_gradient(y, self._offset(prepared))


class GlobalEnergy(_MeasuredEnergy):
    name = "global"

    def __init__(
        self, n_labels: int, units: int = 200, nonlinearity: str = "softplus", layers: int = 1, convex: bool = False
    ) -> None:
        super().__init__(n_labels, units, nonlinearity, layers, convex)
        self.bias = nn.Parameter(torch.zeros(units))

    def _offset(self, prepared: None) -> Tensor:
        return self.bias

    def measurement_matrix(self) -> Tensor:
        """(units, labels), detached: one learned measurement a row, as in the SPEN paper's Figures 1 and 5."""
        return self.measurements.matrix.detach().T


class ConditionalEnergy(_MeasuredEnergy):
    """The offset is prepared once per x."""

    name = "conditional"

    def __init__(
        self,
        n_features: int,
        n_labels: int,
        units: int = 200,
        nonlinearity: str = "softplus",
        layers: int = 1,
        convex: bool = False,
    ) -> None:
        super().__init__(n_labels, units, nonlinearity, layers, convex)
        self.from_features = nn.Linear(n_features, units)

    def prepare(self, features: Tensor, mask: Tensor | None = None) -> Tensor:
        return self.from_features(features).unsqueeze(1)  # (batch, 1, units)
