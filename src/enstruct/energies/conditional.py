"""Conditional energy: label dependencies that change with x (SPEN eq. 6).

    E_cond(x, y) = d . g(D [y; f(x)] + b) = d . g(D_y y + (D_x f(x) + b))

The bracket is prepared once per x.
"""

from __future__ import annotations

from torch import Tensor, nn

from enstruct.energies.base import Term
from enstruct.energies.measurements import Measurements
from enstruct.spaces.label_vectors import Labels


class ConditionalEnergy(Term):
    name = "conditional"
    has_closed_form = True

    def __init__(
        self,
        n_features: int,
        n_labels: int,
        units: int = 200,
        nonlinearity: str = "softplus",
        layers: int = 1,
        convex: bool = False,
    ) -> None:
        super().__init__()
        self.measurements = Measurements(n_labels, units, nonlinearity, layers, convex)
        self.from_features = nn.Linear(n_features, units)

    def prepare(self, features: Tensor, mask: Tensor | None = None) -> Tensor:
        return self.from_features(features).unsqueeze(1)  # (batch, 1, units)

    def forward(self, prepared: Tensor | None, y: Labels) -> Tensor:
        return self.measurements(y, prepared)

    def value_and_gradient(self, prepared: Tensor | None, y: Tensor) -> tuple[Tensor, Tensor]:
        return self.measurements.value_and_gradient(y, prepared)  # type: ignore[arg-type]

    def gradient(self, prepared: Tensor | None, y: Tensor) -> Tensor:
        return self.measurements.gradient(y, prepared)  # type: ignore[arg-type]
