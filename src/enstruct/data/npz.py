"""NumPy archives: ``X`` and ``Y`` dense, or CSR as ``X_data, X_indices, X_indptr, X_shape`` (likewise Y).

Optional string arrays ``feature_names`` and ``label_names``. Loaded without pickle.
"""

from __future__ import annotations

from pathlib import Path
from typing import IO, Any

import numpy as np
from scipy import sparse

from enstruct.data.dataset import MOST_COLUMNS, Dataset
from enstruct.data.opening import open_binary
from enstruct.data.rows import as_indicator
from enstruct.errors import DatasetNotFoundError, ParseError
from enstruct.files import load_arrays


def read_npz(path: Path | str, labelled: bool = True) -> Dataset:
    """``labelled=False`` does not look for Y."""
    try:
        with open_binary(path) as file:
            arrays = load_arrays(file)
    except DatasetNotFoundError:
        raise
    except (ValueError, OSError) as error:
        why = "it holds pickled objects, or is no such archive at all" if "allow_pickle" in str(error) else error
        raise ParseError(f"not a readable .npz archive without pickled objects ({why})", path) from error
    X = _matrix(path, arrays, "X")
    Y = _matrix(path, arrays, "Y") if labelled else np.zeros((X.shape[0], 0), np.uint8)
    if X.shape[0] != Y.shape[0]:
        raise ParseError(f"X has {X.shape[0]} rows and Y {Y.shape[0]}", path)
    if not np.isin(np.unique(Y.data if sparse.issparse(Y) else Y), (0, 1)).all():
        raise ParseError("Y must hold only 0 and 1", path)
    names = _names(path, arrays, "feature_names", X.shape[1], "f")
    labels = _names(path, arrays if labelled else {}, "label_names", Y.shape[1], "")
    return Dataset(X, as_indicator(Y), names, labels, name=Path(path).name)


def write_npz(path: Path | str | IO[bytes], data: Dataset) -> None:
    """The inverse of :func:`read_npz`."""
    arrays: dict[str, Any] = {"feature_names": np.array(data.feature_names), "label_names": np.array(data.label_names)}
    for name, matrix in (("X", data.X), ("Y", data.Y)):
        if sparse.issparse(matrix):
            csr = sparse.csr_matrix(matrix)
            parts = {"data": csr.data, "indices": csr.indices, "indptr": csr.indptr, "shape": np.array(csr.shape)}
            arrays |= {f"{name}_{key}": value for key, value in parts.items()}
        else:
            arrays[name] = matrix
    np.savez_compressed(path, **arrays)


def _matrix(path: Path | str, arrays: dict[str, Any], name: str) -> Any:
    if name in arrays:
        return _checked(path, name, arrays[name])
    parts = [arrays.get(f"{name}_{part}") for part in ("data", "indices", "indptr", "shape")]
    if any(part is None for part in parts):
        raise ParseError(f"no array {name!r}, nor {name}_data, {name}_indices, {name}_indptr, {name}_shape", path)
    data, indices, indptr, shape = parts
    try:
        matrix = sparse.csr_matrix((data, indices, indptr), shape=tuple(shape))  # type: ignore[arg-type]
        matrix.check_format(full_check=True)  # an index beyond the shape would be read from foreign memory
    except (ValueError, TypeError, IndexError, OverflowError, MemoryError) as error:
        raise ParseError(f"{name}_data, {name}_indices, {name}_indptr, {name}_shape are no CSR matrix ({error})", path) from error
    matrix.sum_duplicates()
    return _checked(path, name, matrix)


def _checked(path: Path | str, name: str, matrix: Any) -> Any:
    if matrix.ndim != 2 or matrix.dtype.kind not in "biuf":
        raise ParseError(f"{name} must be a matrix (rows, columns) of numbers, not {matrix.shape} of {matrix.dtype}", path)
    if matrix.shape[1] > MOST_COLUMNS:
        raise ParseError(f"{name} has {matrix.shape[1]} columns, more than {MOST_COLUMNS}: number those that occur from 0", path)
    return matrix


def _names(path: Path | str, arrays: dict[str, Any], key: str, n: int, prefix: str) -> tuple[str, ...]:
    if key not in arrays:
        return tuple(f"{prefix}{i}" for i in range(n))
    names = tuple(str(v) for v in np.atleast_1d(arrays[key]))
    if len(names) != n:
        raise ParseError(f"{key} has {len(names)} names for {n} columns", path)
    if key == "label_names" and len(set(names)) < n:
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise ParseError(f"two labels are called {twice!r}", path)
    return names
