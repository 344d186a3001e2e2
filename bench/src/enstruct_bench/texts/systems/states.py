"""Documents as a frozen encoder's states at every token, and batches of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from enstruct.encoders.text import TextEncoder
from enstruct.encoders.text.pretrained import hidden
from enstruct.encoders.text.trunk import padded

TOKENS_A_BATCH = 2**12


class States(NamedTuple):
    """``values`` (documents, tokens, width) and which tokens are ``there`` (documents, tokens)."""

    values: Tensor
    there: Tensor


class EncodedDocuments:
    """Texts -> states, kept in half precision: a text is encoded once, whoever asks."""

    def __init__(self, encoder: TextEncoder) -> None:
        self._encoder = encoder
        self._kept: dict[str, NDArray[np.float16]] = {}

    @property
    def width(self) -> int:
        return self._encoder.trunk.width

    def encode(self, texts: Sequence[str]) -> None:
        """Those that are not kept yet."""
        new = [text for text in dict.fromkeys(texts) if text not in self._kept]
        trunk = self._encoder.trunk
        tokens = trunk.tokens(new, min(self._encoder.max_tokens, trunk.positions))
        order = sorted(range(len(new)), key=lambda i: len(tokens[i]))
        while order:
            rows = [order.pop()]
            while order and (len(rows) + 1) * len(tokens[rows[0]]) <= TOKENS_A_BATCH:
                rows.append(order.pop())
            numbers, there = padded([tokens[i] for i in rows], trunk.fill)
            with torch.inference_mode():
                states = hidden(trunk.network.eval(), numbers, there).half().numpy()
            for i, one, own in zip(rows, states, there.numpy(), strict=True):
                self._kept[new[i]] = one[own]

    def lengths(self, texts: Sequence[str]) -> NDArray[np.intp]:
        """Tokens of each, all of them encoded."""
        return np.array([len(self._kept[text]) for text in texts], dtype=np.intp)

    def batch(self, texts: Sequence[str]) -> States:
        """ValueError for a text that was not encoded."""
        missing = [text for text in texts if text not in self._kept]
        if missing:
            raise ValueError(f"{len(missing)} texts were not encoded")
        rows = [torch.from_numpy(self._kept[text]) for text in texts]
        lengths = torch.tensor([len(row) for row in rows])
        values = nn.utils.rnn.pad_sequence(rows, batch_first=True).float()
        return States(values, torch.arange(values.shape[1]) < lengths.unsqueeze(1))


class Reader(nn.Module):
    """States -> memory (documents, tokens, out_features): one layer, as the states know their surroundings already, on states
    of one size, whatever the encoder's."""

    def __init__(self, width: int, out_features: int, dropout: float = 0.3) -> None:
        super().__init__()
        self.out_features = out_features
        self.layers = nn.Sequential(nn.LayerNorm(width), nn.Dropout(dropout), nn.Linear(width, out_features), nn.GELU())

    def forward(self, x: States) -> Tensor:
        memory: Tensor = self.layers(x.values)
        return memory
