"""The feed-forward predictor F(x) = head(encoder(x)): logits (batch, outputs).

The head's rows are the label embeddings of the SEAL paper (Xavier-uniform), with a bias the
published code lacks.
"""

from __future__ import annotations

from typing import Any, Self, cast

import torch
from torch import Tensor, nn

from enstruct.encoders.sparse_mlp import SparseLinear
from enstruct.randomness import redirected, seeded


class Predictor(nn.Module):
    """``encoder``: x -> (batch, encoder.out_features); the linear head maps them to logits. ``by_features_alone``: of subclasses,
    whether that is all there is to their logits."""

    by_features_alone = True

    def __init__(self, encoder: nn.Module, n_outputs: int) -> None:
        super().__init__()
        self.encoder = encoder
        self.head = nn.Linear(cast(int, encoder.out_features), n_outputs)
        nn.init.xavier_uniform_(self.head.weight)
        nn.init.zeros_(self.head.bias)

    def forward(self, x: Tensor) -> Tensor:
        return cast(Tensor, self.head(self.encoder(x)))


class LinearPredictor(nn.Module):
    """logits = x W + b on dense or CSR rows; weights come from a convex solver. ``chosen``: settings that it took, by name."""

    def __init__(self, weights: Tensor, biases: Tensor) -> None:
        super().__init__()
        with seeded(0), redirected():  # what is drawn is overwritten
            self.linear = SparseLinear(weights.shape[1], weights.shape[0])
        with torch.no_grad():
            self.linear.weight.copy_(weights.T)
            self.linear.bias.copy_(biases)
        self.chosen: dict[str, Any] = {}

    @classmethod
    def restored(cls, tensors: dict[str, Tensor], n_features: int, n_labels: int) -> Self:
        """From its own ``state_dict``; ValueError if that is of other sizes."""
        weight, bias = tensors["linear.weight"], tensors["linear.bias"]
        if weight.shape != (n_features, n_labels) or bias.shape != (n_labels,):
            raise ValueError(f"the linear model is not one of {n_features} features and {n_labels} labels")
        return cls(weight.T, bias)

    def forward(self, x: Tensor) -> Tensor:
        return cast(Tensor, self.linear(x))
