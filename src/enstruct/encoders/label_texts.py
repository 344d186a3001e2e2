"""A predictor that also reads its labels: logits from the encoder's own vectors of their names or descriptions.

    logit_l = (w_l . z + d_l) + b + s cos(x + B A x, e_l)

x (batch, width) are a text's features, e_l (width,) those of label l's text by the same encoder, z what the predictor's network
makes of x, B A of rank 32, zero at first. Own weights w_l, d_l are left out of a tenth of the labels at every update, so that the
other part, which has none of a label's own, learns to answer alone: it is all that there is for labels that came after training.
(Two towers, as in Pappas & Henderson 2019; a label's free weights beside them.)
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from enstruct.encoders.predictor import Predictor
from enstruct.randomness import Dropout

RANK = 32
LEFT_OUT = 0.1
SCALE = 10.0
"""At first; it is learnt."""


class LabelTextPredictor(Predictor):
    """``vectors`` (labels, width); ``of_rows``: whether x are the rows themselves, or what ``encoder`` makes of them."""

    vectors: Tensor
    by_features_alone = False

    def __init__(self, encoder: nn.Module, vectors: Tensor, of_rows: bool) -> None:
        super().__init__(encoder, len(vectors))
        self.of_rows = of_rows
        self.register_buffer("vectors", vectors)
        width = vectors.shape[1]
        self.down, self.up = nn.Linear(width, RANK, bias=False), nn.Linear(RANK, width, bias=False)
        nn.init.zeros_(self.up.weight)
        self.scale, self.bias = nn.Parameter(torch.tensor(SCALE)), nn.Parameter(torch.zeros(()))
        self.dropout = Dropout(LEFT_OUT)

    def forward(self, x: Tensor) -> Tensor:
        z = self.encoder(x)
        kept = self.dropout(torch.ones(self.head.out_features, device=z.device))
        kept = kept * (1 - LEFT_OUT) if self.dropout.training else kept
        return kept * self.head(z) + self._alike(x if self.of_rows else z, self.vectors)

    def of_others(self, x: Tensor, vectors: Tensor) -> Tensor:
        """(batch, others) logits of labels that have nothing but a text, by its vectors (others, width)."""
        return self._alike(x if self.of_rows else self.encoder(x), vectors)

    def _alike(self, x: Tensor, vectors: Tensor) -> Tensor:
        turned = F.normalize(x + self.up(self.down(x)), dim=1)
        return self.bias + self.scale * turned @ F.normalize(vectors, dim=1).T
