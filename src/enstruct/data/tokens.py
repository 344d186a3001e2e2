"""Texts as rows of token numbers, a CSR matrix of its own kind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse


class TokenRows(sparse.csr_matrix):
    """(texts, most tokens) CSR: place k of a row holds the number of the text's k-th token plus one, so that none is a zero.

    Rows are taken, merged and compared as those of any CSR matrix; batches are made of rows of like lengths, as those of
    sentences are (:mod:`enstruct.training.batches`).
    """

    @classmethod
    def of(cls, tokens: Sequence[Sequence[int]], most: int) -> Self:
        lengths = np.array([len(one) for one in tokens], dtype=np.int64)
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        places = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)
        numbers = np.concatenate([np.asarray(one, dtype=np.float32) for one in tokens]) + 1 if len(tokens) else np.zeros(0)
        return cls((numbers.astype(np.float32), places.astype(np.int32), offsets.astype(np.int32)), shape=(len(tokens), most))

    @property
    def lengths(self) -> NDArray[np.int64]:
        """(texts,) tokens of each."""
        return np.diff(self.indptr).astype(np.int64)
