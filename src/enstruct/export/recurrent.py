"""torch's LSTM as the operator of ONNX: torch's exporter would write its steps out, for sentences of one length.

ONNX orders the gates' weights as input, output, forget, cell; torch as input, forget, cell, output.
"""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor, nn

from enstruct.errors import ConfigError

VERSION = 14
"""Of the operator."""


class GraphLSTM(nn.Module):
    """x (sentences, tokens, width) -> ((sentences, tokens, hidden), None), of one layer in one direction."""

    weight: Tensor
    recurrent: Tensor
    bias: Tensor

    def __init__(self, lstm: nn.LSTM) -> None:
        super().__init__()
        if lstm.num_layers != 1 or lstm.bidirectional or not lstm.batch_first or not lstm.bias or lstm.proj_size:
            raise ConfigError(
                "A graph takes LSTMs of one layer and direction with batch_first=True, as enstruct's own encoder has."
            )
        self.hidden = lstm.hidden_size
        self.register_buffer("weight", _ordered(lstm, "weight_ih_l0")[None])
        self.register_buffer("recurrent", _ordered(lstm, "weight_hh_l0")[None])
        self.register_buffer("bias", torch.cat([_ordered(lstm, "bias_ih_l0"), _ordered(lstm, "bias_hh_l0")])[None])

    def forward(self, x: Tensor) -> tuple[Tensor, None]:
        out: Tensor = torch.onnx.ops.symbolic(
            "LSTM",
            (x.transpose(0, 1), self.weight, self.recurrent, self.bias),
            {"hidden_size": self.hidden},
            dtype=torch.float32,
            shape=(x.shape[1], 1, x.shape[0], self.hidden),
            version=VERSION,
        )
        return out.squeeze(1).transpose(0, 1), None


def _ordered(lstm: nn.LSTM, name: str) -> Tensor:
    into, forget, cell, out = cast(Tensor, getattr(lstm, name)).detach().chunk(4)
    return torch.cat([into, out, forget, cell])


def with_graph_lstms(network: nn.Module) -> nn.Module:
    """The network, each LSTM in it exchanged."""
    for name, child in list(network.named_children()):
        if isinstance(child, nn.LSTM):
            setattr(network, name, GraphLSTM(child))
        else:
            with_graph_lstms(child)
    return network
