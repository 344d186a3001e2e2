"""Bidirectional LSTM: tokens -> features (batch, time, 2 hidden).

    h_t = [ LSTM(e_1 .. e_t) ; LSTM'(e_T .. e_t) ]         dropout on e, between layers and on h

The backward half reads each sentence reversed within its own length, so padding comes last for both and never reaches a real
token; torch's fast kernel for whole batches serves, where packed sequences would go token by token.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from enstruct.encoders.tokens import TokenBatch
from enstruct.randomness import Dropout


class BiLSTM(nn.Module):
    """``embedding``: a module from tokens to (batch, time, embedding.out_features)."""

    def __init__(self, embedding: nn.Module, hidden: int = 100, layers: int = 1, dropout: float = 0.5) -> None:
        super().__init__()
        self.embedding = embedding
        widths = [int(embedding.out_features), *[2 * hidden] * layers]  # type: ignore[arg-type]
        self.forwards = nn.ModuleList(nn.LSTM(width, hidden, batch_first=True) for width in widths[:-1])
        self.backwards = nn.ModuleList(nn.LSTM(width, hidden, batch_first=True) for width in widths[:-1])
        self.dropout = Dropout(dropout)
        self.out_features = widths[-1]

    def forward(self, x: TokenBatch) -> Tensor:
        order = reversal(x.there)
        h = self.dropout(self.embedding(x))
        for ahead, behind in zip(self.forwards, self.backwards, strict=True):
            right = _reorder(behind(_reorder(h, order))[0], order)
            h = self.dropout(torch.cat([ahead(h)[0], right], dim=-1))
        return h


def reversal(there: Tensor) -> Tensor:
    """(batch, time) for each place the one it changes with when the tokens are reversed; padding stays. Its own inverse."""
    time = torch.arange(there.shape[1], device=there.device)
    last = there.sum(1, keepdim=True) - 1
    return torch.where(there, last - time, time)


def _reorder(h: Tensor, order: Tensor) -> Tensor:
    return h.gather(1, order.unsqueeze(-1).expand_as(h))
