"""A multi-label data set in memory, with its names."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from enstruct.data.hierarchy import Hierarchy
from enstruct.errors import DataError, shown

MOST_COLUMNS = 2**25
"""Of files: numbers beyond it are hashes or slips, and every column takes some memory, a name at least."""
ROOMY, SHARE = 2**22, 16
"""Columns that a file may have whatever its size (the largest published sets have a few million, and excerpts keep them), and
beyond that for each of its entries."""


@dataclass(frozen=True)
class Dataset:
    """``X`` (rows, features) dense float64 or CSR, missing cells NaN; ``Y`` (rows, labels) CSR uint8.

    ``first_feature``: of svmlight files without header, what features count from there.
    """

    X: Any
    Y: sparse.csr_matrix
    feature_names: tuple[str, ...]
    label_names: tuple[str, ...]
    hierarchy: Hierarchy | None = None
    name: str = ""
    first_feature: int | None = None

    def __len__(self) -> int:
        return int(self.Y.shape[0])

    def take(self, index: NDArray[Any]) -> Dataset:
        return replace(self, X=self.X[index], Y=self.Y[index])

    @property
    def has_missing(self) -> bool:
        values = self.X.data if sparse.issparse(self.X) else self.X
        return bool(np.isnan(values).any())


def most_columns(entries: int, known: int | None = None) -> int:
    """How many columns a file of so many entries may have, or as many as are ``known`` from another."""
    return max(known or 0, min(MOST_COLUMNS, max(ROOMY, SHARE * entries)))


def drop_empty_rows(data: Dataset) -> Dataset:
    """Without the rows that carry no label, as the SEAL protocol does."""
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
