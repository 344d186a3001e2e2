"""Character network: a word's spelling as a vector (Ma & Hovy 2016).

    c = max_i  relu(W [k_{i-1}, k_i, k_{i+1}] + b)          k the characters' embeddings, zero outside the word

It reads each spelling of a batch once, however often it occurs.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

EMBEDDING = 16


class CharacterCNN(nn.Module):
    """spellings (spellings, characters) -> (spellings, width); character 0 is padding."""

    def __init__(self, n_characters: int, width: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(n_characters, EMBEDDING, padding_idx=0)
        self.convolution = nn.Conv1d(EMBEDDING, width, kernel_size=3, padding=1)

    def forward(self, spellings: Tensor) -> Tensor:
        there = (spellings > 0).unsqueeze(1)  # (spellings, 1, characters)
        h = torch.relu(self.convolution(self.embedding(spellings).transpose(1, 2)))
        return (h * there).amax(-1)  # relu is not below 0, so the padding's zeros never win
