"""Rows that are read block by block, put together in the end without a second copy of all of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

CHARACTERS = 2**19
"""Of the lines of a block: as objects of Python's they take some thirty times as much."""


def blocks(lines: Iterable[tuple[int, str]]) -> Iterator[list[tuple[int, str]]]:
    """Numbered lines in blocks of about :data:`CHARACTERS`, at least one line each."""
    block: list[tuple[int, str]] = []
    room = CHARACTERS
    for number, line in lines:
        block.append((number, line))
        room -= len(line) + 1
        if room <= 0:
            yield block
            block, room = [], CHARACTERS
    if block:
        yield block


class Stack:
    """Blocks (rows, columns), all dense or all CSR; what is put together is taken out of here."""

    def __init__(self) -> None:
        self._blocks: list[Any] = []
        self.rows = 0

    def add(self, block: Any) -> None:
        self._blocks.append(block)
        self.rows += block.shape[0]

    def whole(self) -> Any:
        """All rows. ValueError without a block."""
        if not self._blocks:
            raise ValueError("there are no rows")
        if len(self._blocks) == 1:
            return self._blocks.pop()
        return self._sparse() if sparse.issparse(self._blocks[0]) else self._dense()

    def _taken(self) -> Iterator[Any]:
        """The blocks in their order; each is gone from here once the next is asked for."""
        self._blocks.reverse()
        while self._blocks:
            yield self._blocks.pop()

    def _dense(self) -> NDArray[Any]:
        first = self._blocks[0]
        out = np.empty((self.rows, *first.shape[1:]), first.dtype)
        start = 0
        for block in self._taken():
            out[start : start + len(block)] = block
            start += len(block)
        return out

    def _sparse(self) -> sparse.csr_matrix:
        first = self._blocks[0]
        entries = sum(block.nnz for block in self._blocks)
        kind = np.int32 if max(entries, first.shape[1]) < 2**31 else np.int64
        data, indices = np.empty(entries, first.dtype), np.empty(entries, kind)
        indptr = np.zeros(self.rows + 1, kind)
        row = entry = 0
        for block in self._taken():
            end = entry + block.nnz
            data[entry:end], indices[entry:end] = block.data, block.indices
            indptr[row + 1 : row + block.shape[0] + 1] = block.indptr[1:] + entry
            row, entry = row + block.shape[0], end
        return sparse.csr_matrix((data, indices, indptr), shape=(self.rows, first.shape[1]))
