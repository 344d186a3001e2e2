"""Token embedding: every token of a sentence as one vector.

    e(w) = G[w] + D[w]                       G a fixed table of pretrained vectors, D what training adds to those it has seen
    e    = [ e(w), one small embedding a further column, characters(w) ]

G alone serves words that training never met, so that they stay comparable to their neighbours. Columns: the pretrained word,
the training word, then categories (case, digits, affixes, POS, clusters, ...), and last the spelling, which the character
network reads (:mod:`enstruct.encoders.characters`). 0 stands for unknown, and is what padding holds.
"""

from __future__ import annotations

from typing import NamedTuple, Self

import torch
from torch import Tensor, nn

from enstruct.encoders.characters import CharacterCNN
from enstruct.randomness import drawn_like

UNKNOWN = 0.02
"""Chance that training sees a word of D as unknown, so that D[0] learns what an unknown word is."""


class TokenBatch(NamedTuple):
    """``columns`` (batch, time, columns) whole numbers; ``there`` (batch, time) which tokens exist; ``spellings`` (spellings,
    characters), numbered by the last column, and ``pieces`` (spellings, most pieces), if an encoder reads such."""

    columns: Tensor
    there: Tensor
    spellings: Tensor
    pieces: Tensor | None = None

    def to(self, device: torch.device | str) -> Self:
        return type(self)(*(None if part is None else part.to(device) for part in self))  # type: ignore[arg-type]


class TokenEmbedding(nn.Module):
    """tokens -> (batch, time, ``out_features``).

    pretrained : (words, width) the fixed table, row 0 of unknown words, or None.
    n_words, width : rows and width of what training adds.
    categories : the number of values of each further column.
    characters : width of the character network's output, 0 for none; ``n_characters`` of its alphabet.
    """

    def __init__(
        self,
        pretrained: Tensor | None,
        n_words: int,
        width: int,
        categories: tuple[int, ...] = (),
        characters: int = 0,
        n_characters: int = 0,
    ) -> None:
        super().__init__()
        self.register_buffer("pretrained", pretrained)
        self.words = nn.Embedding(n_words, width)
        if pretrained is None:
            nn.init.uniform_(self.words.weight, -((3 / width) ** 0.5), (3 / width) ** 0.5)
        else:
            nn.init.zeros_(self.words.weight)
        widths = [min(16, max(2, n // 2)) for n in categories]
        self.categories = nn.ModuleList(nn.Embedding(n, own) for n, own in zip(categories, widths, strict=True))
        self.characters = CharacterCNN(n_characters, characters) if characters else None
        self.unknown = UNKNOWN
        self.out_features = width + sum(widths) + characters

    def forward(self, x: TokenBatch) -> Tensor:
        known = x.columns[..., 1]
        if self.training and self.unknown:
            known = known * (torch.rand(known.shape, **drawn_like(known, torch.float32)) >= self.unknown)
        word = self.words(known)
        if isinstance(self.pretrained, Tensor):
            word = word + self.pretrained[x.columns[..., 0]]
        parts = [word, *(table(x.columns[..., i + 2]) for i, table in enumerate(self.categories))]
        if self.characters is not None:
            parts.append(self.characters(x.spellings)[x.columns[..., -1]])
        return torch.cat(parts, dim=-1)
