"""Global energy: how labels hang together, whatever x (SPEN eq. 5).

    E_global(y) = v . g(C y + b)        g in {softplus, relu, hardtanh}, one or two layers

Its parameters grow linearly in the number of labels; the rows of C are the measurement matrix of
the SPEN paper's Figures 1 and 5.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from enstruct.energies.base import Term
from enstruct.energies.measurements import Measurements
from enstruct.spaces.label_vectors import Labels


class GlobalEnergy(Term):
    name = "global"
    has_closed_form = True

    def __init__(
        self, n_labels: int, units: int = 200, nonlinearity: str = "softplus", layers: int = 1, convex: bool = False
    ) -> None:
        super().__init__()
        self.measurements = Measurements(n_labels, units, nonlinearity, layers, convex)
        self.bias = nn.Parameter(torch.zeros(units))

    def forward(self, prepared: Tensor | None, y: Labels) -> Tensor:
        return self.measurements(y, self.bias)

    def value_and_gradient(self, prepared: Tensor | None, y: Tensor) -> tuple[Tensor, Tensor]:
        return self.measurements.value_and_gradient(y, self.bias)

    def gradient(self, prepared: Tensor | None, y: Tensor) -> Tensor:
        return self.measurements.gradient(y, self.bias)

    def measurement_matrix(self) -> Tensor:
        """(units, labels), detached: one learned measurement a row."""
        return self.measurements.matrix.detach().T
