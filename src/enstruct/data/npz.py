"""NumPy archives: ``X`` and ``Y`` dense, or CSR as ``X_data, X_indices, X_indptr, X_shape`` (likewise Y).

Optional string arrays ``feature_names`` and ``label_names``. Loaded without pickle.
"""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import IO, Any

import numpy as np
from scipy import sparse

from enstruct.data.dataset import Dataset
from enstruct.data.rows import as_indicator
from enstruct.errors import DatasetNotFoundError, ParseError


def read_npz(path: Path | str, labelled: bool = True) -> Dataset:
    """``labelled=False`` does not look for Y."""
    if not Path(path).is_file():
        raise DatasetNotFoundError(f"There is no file {path}.")
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = dict(archive)
    except (ValueError, OSError, zipfile.BadZipFile, EOFError) as error:
        raise ParseError(f"not a readable .npz archive without pickled objects ({error})", path) from error
    X = _matrix(path, arrays, "X")
    Y = _matrix(path, arrays, "Y") if labelled else np.zeros((X.shape[0], 0), np.uint8)
    if X.shape[0] != Y.shape[0]:
        raise ParseError(f"X has {X.shape[0]} rows and Y {Y.shape[0]}", path)
    if not np.isin(np.unique(Y.data if sparse.issparse(Y) else Y), (0, 1)).all():
        raise ParseError("Y must hold only 0 and 1", path)
    features = _names(arrays, "feature_names", X.shape[1], "f")
    return Dataset(
        X, as_indicator(Y), features, _names(arrays if labelled else {}, "label_names", Y.shape[1], ""), name=Path(path).name
    )


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
        return arrays[name]
    parts = [arrays.get(f"{name}_{part}") for part in ("data", "indices", "indptr", "shape")]
    if any(part is None for part in parts):
        raise ParseError(f"no array {name!r}, nor {name}_data, {name}_indices, {name}_indptr, {name}_shape", path)
    data, indices, indptr, shape = parts
    return sparse.csr_matrix((data, indices, indptr), shape=tuple(shape))  # type: ignore[arg-type]


def _names(arrays: dict[str, Any], key: str, n: int, prefix: str) -> tuple[str, ...]:
    return tuple(str(v) for v in arrays[key]) if key in arrays else tuple(f"{prefix}{i}" for i in range(n))
