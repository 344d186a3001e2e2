"""A multi-label data set in memory, with its names; and opening files whatever their compression."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from enstruct.data.hierarchy import Hierarchy
from enstruct.errors import DataError, DatasetNotFoundError, ParseError

OPENERS: dict[str, Callable[..., Any]] = {".xz": lzma.open, ".gz": gzip.open, ".bz2": bz2.open}


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


def open_text(path: Path | str) -> IO[str]:
    """Text of a plain, .xz, .gz or .bz2 file; DatasetNotFoundError if there is none."""
    path = _there(path)
    return OPENERS.get(path.suffix, open)(path, "rt", encoding="utf-8", errors="replace")


def open_binary(path: Path | str) -> IO[bytes]:
    """The same, its bytes."""
    path = _there(path)
    return OPENERS.get(path.suffix, open)(path, "rb")


def _there(path: Path | str) -> Path:
    path = Path(path)
    if not path.is_file():
        raise DatasetNotFoundError(f"There is no file {path}.")
    return path


def read_lines(path: Path | str) -> list[str]:
    """All lines; a damaged archive is a ParseError, not a crash of the decompressor."""
    try:
        with open_text(path) as file:
            text = file.read().removesuffix("\n")
            return text.split("\n") if text else []  # splitlines() would break at rarer marks as well
    except (EOFError, lzma.LZMAError, gzip.BadGzipFile, OSError) as error:
        if isinstance(error, DatasetNotFoundError):
            raise
        raise ParseError(f"the file cannot be decompressed or read ({error}); fetch it again", path) from error


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
                raise DataError(f"{kind.replace('_names', '')} {i} is {y!r} in {other.name!r} but {x!r} before.")
    return other
