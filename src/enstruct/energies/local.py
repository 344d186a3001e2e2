"""Local energy: one linear model a label (SPEN eq. 4), at every place of the output.

E_local(x, y) = sum_l  y_l (b_l . f(x) + d_l)        b (labels, features), d (labels,)

Tag sequences have features (batch, time, width) and y (batch, samples, time, tags), and sum over time as well (eq. 7 of the
implicit-training paper, its first term).
"""

from __future__ import annotations

from torch import Tensor, nn

from enstruct.energies.base import Term
from enstruct.spaces.label_vectors import Labels, inner


class LocalEnergy(Term):
    name = "local"
    has_closed_form = True
    linear_in_tags = True

    def __init__(self, n_features: int, n_labels: int) -> None:
        super().__init__()
        self.scores = nn.Linear(n_features, n_labels)
        nn.init.xavier_uniform_(self.scores.weight)
        nn.init.zeros_(self.scores.bias)

    def prepare(self, features: Tensor, mask: Tensor | None = None) -> Tensor:
        return self.scores(features)  # (batch, ..., labels)

    def forward(self, prepared: Tensor, y: Labels) -> Tensor:
        return inner(y, prepared)

    def value_and_gradient(self, prepared: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        return inner(y, prepared), prepared.unsqueeze(1)
