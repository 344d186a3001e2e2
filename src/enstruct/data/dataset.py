"""A multi-label data set in memory, with its names."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from enstruct.data.hierarchy import Hierarchy
from enstruct.data.mapped import MappedRows
from enstruct.errors import DataError, shown

MOST_COLUMNS = 2**25
"""Of files: numbers beyond it are hashes or slips, and every column takes some memory, a name at least."""
ROOMY, SHARE = 2**22, 16
"""Columns that a file may have whatever its size (the largest published sets have a few million, and excerpts keep them), and
beyond that for each of its entries."""


@dataclass(frozen=True)
class Dataset:
    """``X`` (rows, features) dense float64 or CSR, missing cells NaN, or texts (rows,); ``Y`` (rows, labels) CSR uint8.

    ``first_feature``: of svmlight files without header, what features count from there.
    ``unknown``: (rows, labels) bool, True where a label is not known; None where all are. ``Y`` is 0 there, which says nothing:
    what takes labels with holes takes :meth:`told`.
    ``files``: (rows,) where texts of a folder come from, within it; None of one file.
    """

    X: Any
    Y: sparse.csr_matrix
    feature_names: tuple[str, ...]
    label_names: tuple[str, ...]
    hierarchy: Hierarchy | None = None
    name: str = ""
    first_feature: int | None = None
    unknown: NDArray[np.bool_] | None = None
    files: tuple[str, ...] | None = None

    def __len__(self) -> int:
        return int(self.Y.shape[0])

    def take(self, index: NDArray[Any]) -> Dataset:
        unknown = None if self.unknown is None else any_of(self.unknown[index])
        files = None if self.files is None else tuple(np.array(self.files, dtype=object)[index])
        return replace(self, X=self.X[index], Y=self.Y[index], unknown=unknown, files=files)

    @property
    def holds_texts(self) -> bool:
        """Whether ``X`` are texts, from the fields or columns that ``feature_names`` names."""
        return bool(self.X.dtype == object)

    @property
    def has_missing(self) -> bool:
        if self.holds_texts or isinstance(self.X, MappedRows):  # a folder of arrays holds no gaps
            return False
        values = self.X.data if sparse.issparse(self.X) else self.X
        return bool(np.isnan(values).any())

    @property
    def known_rows(self) -> NDArray[np.intp]:
        """Numbers of the rows of which at least one label is known."""
        return np.arange(len(self)) if self.unknown is None else np.flatnonzero(~self.unknown.all(1))

    def told(self) -> NDArray[np.float64]:
        """(rows, labels) of 0, 1 and, where a label is not known, NaN."""
        Y = self.Y.toarray().astype(np.float64)
        if self.unknown is not None:
            Y[self.unknown] = np.nan
        return Y

    def check_known(self, mend: str) -> None:
        """DataError, with what is to be done about it, where a label is not known."""
        if self.unknown is None:
            return
        row, label = np.argwhere(self.unknown)[0]
        where = f"first {shown(self.label_names[label], 30)} of row {row}, from 0"
        source = shown(self.name or "the data", 60)
        raise DataError(f"{source}: {np.count_nonzero(self.unknown)} cells of labels are unknown ({where}). {mend}")


def any_of(unknown: NDArray[np.bool_]) -> NDArray[np.bool_] | None:
    """The table of what is unknown; None where nothing is."""
    return unknown if unknown.any() else None


def most_columns(entries: int, known: int | None = None) -> int:
    """How many columns a file of so many entries may have, or as many as are ``known`` from another."""
    return max(known or 0, min(MOST_COLUMNS, max(ROOMY, SHARE * entries)))


def drop_empty_rows(data: Dataset) -> Dataset:
    """Without the rows that carry no label, as the SEAL protocol does. Where labels have holes no row is known to be one of them,
    but for those without; to leave these out alone would change how often a label occurs: only rows of which nothing is known go.
    """
    if data.unknown is not None:
        return data.take(data.known_rows)
    return data.take(np.flatnonzero(np.asarray(data.Y.sum(1)).ravel() > 0))


def same_columns(reference: Dataset, other: Dataset) -> Dataset:
    """``other`` if its columns are those of ``reference``; else a DataError naming the first difference."""
    for kind in ("feature_names", "label_names"):
        a, b = getattr(reference, kind), getattr(other, kind)
        if len(a) != len(b):
            raise DataError(f"{other.name or 'the second file'} has {len(b)} {kind.replace('_', ' ')}, expected {len(a)}.")
        for i, (x, y) in enumerate(zip(a, b, strict=True)):
            if x != y:
                raise DataError(f"{kind.replace('_names', '')} {i} is {shown(y)} in {other.name!r} but {shown(x)} before.")
    return other
