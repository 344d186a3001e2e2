"""Sentences and their tags as numbers, laid end to end.

    Sentences      tokens (all tokens, columns): one number a column for each token; offsets (sentences + 1,)
    TagSequences   tags (all tokens,), -1 where a token has no tag of its own (a hole)

Both are indexed by sentence, so that ``Rows(sentences, tags)`` trains like any other rows. Columns are the encoder's business;
the last one numbers the spellings, whose characters stand once each in ``spellings`` (spellings, characters), 0 for padding, and
whose pieces, where a pretrained encoder reads them, in ``pieces`` (spellings, most pieces): numbers of pieces plus one, likewise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Sentences:
    tokens: NDArray[np.int64]
    offsets: NDArray[np.int64]
    holes: NDArray[np.bool_]  # (all tokens,) read by the encoder, tagged by nobody
    spellings: NDArray[np.int64]
    pieces: NDArray[np.int64] | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """(sentences, tokens)."""
        return len(self.offsets) - 1, len(self.tokens)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> NDArray[np.int64]:
        return np.diff(self.offsets)

    def __getitem__(self, index: Any) -> Sentences:
        """Some sentences, by slice or array of numbers."""
        places, offsets = _places(self.offsets, index)
        return Sentences(self.tokens[places], offsets, self.holes[places], self.spellings, self.pieces)


@dataclass(frozen=True)
class TagSequences:
    """``allowed`` (all tokens, tags), where some tags are open: which ones each token may have, all where nothing is known."""

    tags: NDArray[np.int64]
    offsets: NDArray[np.int64]
    n_tags: int
    allowed: NDArray[np.bool_] | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """(sentences, tags)."""
        return len(self.offsets) - 1, self.n_tags

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: Any) -> TagSequences:
        places, offsets = _places(self.offsets, index)
        return TagSequences(self.tags[places], offsets, self.n_tags, None if self.allowed is None else self.allowed[places])

    def split(self) -> list[NDArray[np.int64]]:
        """The tags of each sentence."""
        return split(self.tags, self.offsets)


def split(values: NDArray[Any], offsets: NDArray[np.int64]) -> list[NDArray[Any]]:
    """Values of all tokens, sentence by sentence."""
    return [values[a:b] for a, b in pairwise(offsets)]


def offsets_of(lengths: Sequence[int] | NDArray[Any]) -> NDArray[np.int64]:
    """Where sentences of these lengths begin, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(np.asarray(lengths, dtype=np.int64))]).astype(np.int64)


def _places(offsets: NDArray[np.int64], index: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Numbers of the tokens of some sentences, and the offsets among them."""
    chosen = np.arange(len(offsets) - 1)[index]
    lengths = np.diff(offsets)[chosen]
    new = offsets_of(lengths)
    places = np.arange(new[-1]) + np.repeat(offsets[chosen] - new[:-1], lengths)
    return places, new


def buckets(lengths: NDArray[np.int64], size: int, order: NDArray[np.int64], most_tokens: int) -> list[NDArray[np.int64]]:
    """Batches of at most ``size`` sentences of like length and ``most_tokens`` tokens, padding included; one sentence at least.

    ``order`` is random: sentences are taken from it fifty batches at a time, sorted by length among themselves, and cut.
    """
    batches: list[NDArray[np.int64]] = []
    for start in range(0, len(order), 50 * size):
        window = order[start : start + 50 * size]
        window = window[np.argsort(lengths[window], kind="stable")]
        begin = 0
        for i in range(1, len(window) + 1):
            full = i - begin == size or (i < len(window) and (i - begin + 1) * lengths[window[i]] > most_tokens)
            if full or i == len(window):
                batches.append(window[begin:i])
                begin = i
    return batches
