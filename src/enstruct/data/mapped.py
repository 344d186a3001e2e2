"""Rows that stay in a file: arrays mapped to memory, of which a batch at a time is read.

``MappedRows`` has a shape and is indexed by row as arrays are, and what it gives is rows in the file again: parts, orders and
scaled versions of the rows cost numbers of rows, no copies. ``read()`` makes a matrix of what is left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

CELLS = 2**22
"""Numbers that are read at once where all rows are gone through."""


@dataclass(frozen=True)
class SparseStore:
    """A CSR matrix on disk: row r is ``values[indptr[r]:indptr[r + 1]]`` in the columns ``indices`` of the same places."""

    values: NDArray[Any]
    indices: NDArray[Any]
    indptr: NDArray[Any]
    width: int

    def __len__(self) -> int:
        return len(self.indptr) - 1

    @property
    def cells(self) -> int:
        return len(self.values)

    def rows(self, index: NDArray[np.int64]) -> sparse.csr_matrix:
        begins, ends = np.asarray(self.indptr[index]), np.asarray(self.indptr[index + 1])
        offsets = np.concatenate([[0], np.cumsum(ends - begins)])
        places = np.arange(offsets[-1]) + np.repeat(begins - offsets[:-1], ends - begins)
        kind = np.int32 if max(self.width, offsets[-1]) < 2**31 else np.int64
        columns = np.asarray(self.indices[places]).astype(kind, copy=False)
        return sparse.csr_matrix((np.asarray(self.values[places]), columns, offsets.astype(kind)), (len(index), self.width))


@dataclass(frozen=True)
class DenseStore:
    """A matrix (rows, features) on disk."""

    values: NDArray[Any]

    def __len__(self) -> int:
        return len(self.values)

    @property
    def width(self) -> int:
        return int(self.values.shape[1])

    @property
    def cells(self) -> int:
        return int(self.values.size)

    def rows(self, index: NDArray[np.int64]) -> NDArray[Any]:
        return np.asarray(self.values[index])


@dataclass(frozen=True)
class MappedRows:
    """``numbers``: those of the rows meant, None for all. ``through``: what rows pass when they are read, one after another, and
    ``width`` how many features they have then."""

    store: SparseStore | DenseStore
    numbers: NDArray[np.int64] | None = None
    through: tuple[Callable[[Any], Any], ...] = ()
    width: int = -1

    dtype = np.dtype(np.float32)

    def __len__(self) -> int:
        return len(self.store) if self.numbers is None else len(self.numbers)

    @property
    def shape(self) -> tuple[int, int]:
        return len(self), self.width if self.through else self.store.width

    @property
    def is_sparse(self) -> bool:
        """In the file, before they pass anything."""
        return isinstance(self.store, SparseStore)

    def __getitem__(self, index: Any) -> MappedRows:
        """Some rows, by a slice, numbers or a mask, of all features (``[rows, ...]``, as scikit-learn cuts). IndexError for
        anything else."""
        if isinstance(index, tuple) and len(index) == 2 and index[1] is Ellipsis:
            index = index[0]
        if self.numbers is not None:
            numbers = self.numbers[index] if isinstance(index, slice) else self.numbers[np.asarray(index)]
        elif isinstance(index, slice):
            numbers = np.arange(*index.indices(len(self.store)))
        else:
            given = np.asarray(index)
            numbers = np.flatnonzero(given) if given.dtype == bool and given.shape == (len(self.store),) else given
            if numbers.ndim == 1 and len(numbers):
                numbers = _from_start(numbers, len(self.store))
        if numbers.ndim != 1:
            raise IndexError(
                "Rows that stay in a file are cut by slices, lists of numbers or masks of rows: read() makes a matrix."
            )
        return replace(self, numbers=numbers.astype(np.int64, copy=False))

    def __iter__(self) -> Iterator[Any]:
        raise TypeError("Rows that stay in a file are read by blocks(), or all of them by read().")

    def __array__(self, *_: Any, **__: Any) -> NDArray[Any]:
        raise TypeError("Rows that stay in a file are no array: read() makes a matrix of them, blocks() one after another.")

    def passing(self, through: Callable[[Any], Any], width: int) -> MappedRows:
        """The same rows as ``through`` makes them of what they are now, with so many features."""
        return replace(self, through=(*self.through, through), width=width)

    def read(self) -> Any:
        """As a matrix of single precision, dense or CSR."""
        index = np.arange(len(self.store)) if self.numbers is None else self.numbers
        rows = self.store.rows(index)
        for through in self.through:
            rows = through(rows)
        return rows

    def blocks(self) -> Iterator[Any]:
        """All rows as matrices, so many at a time that no more than about ``CELLS`` numbers are read at once."""
        step = max(1, int(CELLS * max(1, len(self.store)) / max(1, self.store.cells)))
        for start in range(0, len(self), step):
            yield self[start : start + step].read()


def _from_start(numbers: NDArray[Any], n: int) -> NDArray[np.int64]:
    """Numbers that count from the end where they are below 0. IndexError beyond n rows, and for what is no whole number."""
    if numbers.dtype.kind not in "iu" or numbers.min() < -n or numbers.max() >= n:
        raise IndexError(f"There are {n} rows, and not those of these numbers.")
    return np.where(numbers < 0, numbers + n, numbers).astype(np.int64)
