"""A pretrained encoder on sentences of words: each word's features are those of its pieces, in the middle of the others.

    [CLS] pieces of word 1, of word 2, ... [SEP]  ->  hidden states  ->  (batch, time, width)

A word has the mean over its pieces, or the first one's (``pooling="cls"``). Words behind the last position that the encoder has
are zeros. What a frozen encoder makes of a sentence is computed once a fit (:func:`keeping_features`).
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import cast

import torch
from torch import Tensor, nn

from enstruct.encoders.text.pretrained import TextEncoder
from enstruct.encoders.tokens import TokenBatch
from enstruct.errors import ConfigError

log = logging.getLogger("enstruct")
MOST_KEPT = 2**28
"""Numbers of features that are kept at most: 1 GiB."""


class Kept(dict[tuple[object, ...], Tensor]):
    """Features (words, width) by all that they depend on, up to MOST_KEPT numbers."""

    size = 0

    def keep(self, name: tuple[object, ...], features: Tensor) -> None:
        if self.size + features.numel() <= MOST_KEPT:
            self[name] = features.clone()
            self.size += features.numel()


_kept: ContextVar[Kept | None] = ContextVar("_kept", default=None)


@contextmanager
def keeping_features() -> Iterator[None]:
    """A block in which frozen encoders read each sentence once, on a processor. Afterwards nothing is kept: in which batch a
    sentence was read first shows in the last digits, and answers are not to depend on that."""
    token = _kept.set(Kept())
    try:
        yield
    finally:
        _kept.reset(token)


class EncodedWords(nn.Module):
    """:class:`~enstruct.encoders.tokens.TokenBatch` with pieces -> (batch, time, ``out_features``)."""

    def __init__(self, how: TextEncoder) -> None:
        super().__init__()
        self.text = how.network()
        self.first = how.pooling == "cls"
        self.said = False  # that a sentence was cut
        self.out_features = self.text.out_features
        tokenizer = self.text.trunk.tokenizer
        begin, end = (getattr(tokenizer, f"{name}_token_id", None) for name in ("cls", "sep"))
        if begin is None or end is None:
            raise ConfigError(f"The encoder at {how.name} has no tokens around a sentence ([CLS], [SEP]), which taggers need.")
        self.begin, self.end = int(begin), int(end)

    def forward(self, x: TokenBatch) -> Tensor:
        if x.pieces is None:
            raise ConfigError(
                "EncodedWords reads pieces of words, and these tokens have none: they come from another TokenFormat."
            )
        pieces = x.pieces[x.columns[..., -1]] * x.there.unsqueeze(-1)  # (batch, time, most pieces)
        kept = _kept.get()
        if kept is None or not self.text.frozen or pieces.device.type != "cpu":
            return self._read(pieces)
        lengths, counts = x.there.sum(1).tolist(), (pieces > 0).sum(2)
        how = (self.text.trunk.digest, self.first, self.text.most, self.text.layers)
        names = [
            (*how, counts[i, :n].numpy().tobytes(), pieces[i, :n][pieces[i, :n] > 0].numpy().tobytes())
            for i, n in enumerate(lengths)
        ]
        out = torch.zeros(*pieces.shape[:2], self.out_features)
        new = [i for i, name in enumerate(names) if name not in kept]
        if new:
            longest = max(lengths[i] for i in new)
            for i, features in zip(new, self._read(pieces[new, :longest]), strict=True):
                out[i, : lengths[i]] = features[: lengths[i]]
                kept.keep(names[i], features[: lengths[i]])
        for i in set(range(len(names))) - set(new):
            out[i, : lengths[i]] = kept[names[i]]
        return out

    def _read(self, pieces: Tensor) -> Tensor:
        """(batch, time, ``out_features``) of the numbers of words' pieces (batch, time, most pieces), 0 where there is none."""
        batch, time, most = pieces.shape
        flat = pieces.flatten(1)
        place = (flat > 0).cumsum(1)  # 0 is [CLS]'s
        kept = (flat > 0) & (place <= self.text.most - 2)
        lengths = kept.sum(1)
        if not self.said and bool((kept != (flat > 0)).any()):
            self.said = True
            log.warning("a sentence has more than %d pieces: words behind them are read as nothing", self.text.most - 2)
        numbers = torch.full((batch, int(lengths.max()) + 2), self.text.fill, dtype=torch.int64, device=flat.device)
        numbers[:, 0] = self.begin
        sentence, column = kept.nonzero(as_tuple=True)
        where = place[sentence, column]
        numbers[sentence, where] = flat[sentence, column] - 1
        numbers[torch.arange(batch, device=flat.device), lengths + 1] = self.end
        there = torch.arange(numbers.shape[1], device=flat.device) < (lengths + 2).unsqueeze(1)
        states = self.text.states(numbers, there)
        word, piece = column.div(most, rounding_mode="floor"), column % most
        if self.first:
            begins = piece == 0
            sentence, where, word = sentence[begins], where[begins], word[begins]
        place_of_word = sentence * time + word
        ones = torch.ones(len(where), 1, dtype=states.dtype, device=states.device)
        total = states.new_zeros(batch * time, states.shape[2]).index_add(0, place_of_word, states[sentence, where])
        count = states.new_zeros(batch * time, 1).index_add(0, place_of_word, ones)
        return (total / count.clamp_min(1)).view(batch, time, -1)


class Beside(nn.Module):
    """The features of several encoders of the same tokens, side by side."""

    def __init__(self, *encoders: nn.Module) -> None:
        super().__init__()
        self.encoders = nn.ModuleList(encoders)
        self.out_features = sum(cast(int, encoder.out_features) for encoder in encoders)

    def forward(self, x: TokenBatch) -> Tensor:
        return torch.cat([encoder(x) for encoder in self.encoders], dim=-1)
