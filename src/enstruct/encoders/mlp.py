"""Multi-layer perceptron: x (batch, inputs) -> features (batch, hidden).

    h_0 = x,   h_i = g(W_i h_{i-1} + b_i)          dropout after every layer but the last; where asked,
                                                   on x and after the last

as in the published SEAL systems: equal widths, softplus, Kaiming-uniform weights, zero biases.
The first layer takes dense rows or a CSR batch (see :mod:`enstruct.encoders.sparse_mlp`).
"""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor, nn

from enstruct.encoders.activations import ACTIVATIONS, check_activation
from enstruct.encoders.sparse_mlp import SparseLinear
from enstruct.errors import ConfigError
from enstruct.randomness import Dropout


def _linear(n_inputs: int, n_outputs: int) -> nn.Linear:
    linear = nn.Linear(n_inputs, n_outputs)
    nn.init.kaiming_uniform_(linear.weight, nonlinearity="relu")
    nn.init.zeros_(linear.bias)
    return linear


class MLP(nn.Module):
    """``layers`` hidden layers of width ``hidden``; ``layers=0`` passes dense x through (a linear model)."""

    def __init__(
        self,
        n_inputs: int,
        hidden: int = 400,
        layers: int = 2,
        dropout: float = 0.5,
        nonlinearity: str = "softplus",
        sparse: bool = False,
        input_dropout: float = 0.0,
        last_dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.nonlinearity = nonlinearity
        check_activation(nonlinearity)
        dropouts = (dropout, input_dropout, last_dropout)
        if hidden < 1 or layers < 0 or not all(0 <= share < 1 for share in dropouts):
            raise ConfigError(
                f"An MLP has hidden >= 1, layers >= 0 and 0 <= dropout < 1; they are {hidden!r}, {layers!r} and "
                f"{' and '.join(map(repr, dict.fromkeys(dropouts)))}."
            )
        widths = [n_inputs] + [hidden] * layers
        self.linears = nn.ModuleList(
            SparseLinear(widths[i], widths[i + 1]) if sparse and i == 0 else _linear(widths[i], widths[i + 1])
            for i in range(layers)
        )
        self.dropout, self.input_dropout, self.last_dropout = map(Dropout, dropouts)
        self.out_features = widths[-1]

    def forward(self, x: Tensor) -> Tensor:
        g, x = ACTIVATIONS[self.nonlinearity], _dropped(x, self.input_dropout)
        for i, linear in enumerate(self.linears):
            x = g(linear(x if i == 0 else self.dropout(x)))
        return _dropped(x, self.last_dropout)  # (batch, out_features)


def _dropped(x: Tensor, dropout: Dropout) -> Tensor:
    """Of CSR rows the values that are stored are dropped: the others are 0 as it is."""
    if x.layout != torch.sparse_csr:
        return cast(Tensor, dropout(x))
    if not dropout.training or dropout.p == 0:
        return x
    return torch.sparse_csr_tensor(x.crow_indices(), x.col_indices(), dropout(x.values()), x.shape, check_invariants=False)
