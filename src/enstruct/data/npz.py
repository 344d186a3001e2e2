"""NumPy archives: ``X`` and ``Y`` dense, or CSR as ``X_data, X_indices, X_indptr, X_shape`` (likewise Y).

Optional string arrays ``feature_names`` and ``label_names``. NaN in Y is a label that is not known. Loaded without pickle.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from enstruct.data.dataset import Dataset, most_columns
from enstruct.data.label_names import check_label_names
from enstruct.data.opening import open_binary
from enstruct.data.rows import as_indicator
from enstruct.errors import EnstructError, ParseError, shortened, shown

KEYS = ("", "_data", "_indices", "_indptr", "_shape")
FREE, RATIO = 2**28, 200
"""An archive may take ``FREE`` bytes of memory, and beyond that ``RATIO`` times its own size: what expands further is empty."""


def read_npz(path: Path | str, labelled: bool = True, n_features: int | None = None, n_labels: int | None = None) -> Dataset:
    """``labelled=False`` does not look for Y; ``n_features`` and ``n_labels``: of the model, if there is one.

    ParseError, for an archive that would expand to many times its size as well.
    """
    wanted = [f"{name}{key}" for name in ("X", "Y")[: 1 + labelled] for key in KEYS]
    arrays = _read(path, (*wanted, "feature_names", "label_names"))
    X = _matrix(path, arrays, "X", n_features)
    Y = _matrix(path, arrays, "Y", n_labels) if labelled else np.zeros((X.shape[0], 0), np.uint8)
    if X.shape[0] != Y.shape[0]:
        raise ParseError(f"X has {X.shape[0]} rows and Y {Y.shape[0]}", path)
    _check_finite(path, X)
    values: Any = Y.data if sparse.issparse(Y) else Y
    if not ((values == 0) | (values == 1) | np.isnan(values)).all():
        raise ParseError("Y must hold only 0 and 1, and NaN where a label is unknown", path)
    Y, unknown = _holes(Y)
    names = _names(path, arrays, "feature_names", X.shape[1], "f")
    labels = _names(path, arrays if labelled else {}, "label_names", Y.shape[1], "")
    check_label_names(labels, path)
    return Dataset(X, as_indicator(Y), names, labels, name=Path(path).name, unknown=unknown)


def _holes(Y: Any) -> tuple[Any, NDArray[np.bool_] | None]:
    """(Y with 0 where it is NaN, where that is); None where it is nowhere."""
    values = Y.data if sparse.issparse(Y) else Y
    if not np.isnan(values).any():
        return Y, None
    told = Y.toarray() if sparse.issparse(Y) else Y
    return np.nan_to_num(told), np.isnan(told)


def _read(path: Path | str, names: Sequence[str]) -> dict[str, Any]:
    """Those of these arrays that are there."""
    try:
        with open_binary(path) as file, np.load(_whole(path, file), allow_pickle=False) as archive:
            present = [name for name in names if name in archive.files]
            if sum(archive.zip.getinfo(f"{name}.npy").file_size for name in present) > _most_bytes(path):
                raise _too_large(path)
            return {name: np.asarray(archive[name]) for name in present}
    except EnstructError:
        raise
    except Exception as error:  # of damaged bytes zipfile and NumPy raise many kinds
        why = shortened(str(error) or type(error).__name__, 120)
        raise ParseError(f"not a readable .npz archive without pickled objects ({why})", path) from error


def _whole(path: Path | str, file: IO[bytes]) -> IO[bytes]:
    """The file itself, or, of one that is compressed once more, what is in it: to seek there is to begin anew."""
    if isinstance(file, io.BufferedReader):
        return file
    content = file.read(_most_bytes(path) + 1)
    if len(content) > _most_bytes(path):
        raise _too_large(path)
    return io.BytesIO(content)


def _most_bytes(path: Path | str) -> int:
    return max(FREE, RATIO * Path(path).stat().st_size)


def _too_large(path: Path | str) -> ParseError:
    what = f"its arrays take more than {_most_bytes(path):.1e} bytes, over {RATIO} times the file's size"
    return ParseError(f"{what}: save what is mostly zeros as CSR (X_data, X_indices, X_indptr, X_shape)", path)


def write_npz(path: Path | str | IO[bytes], data: Dataset) -> None:
    """The inverse of :func:`read_npz`."""
    arrays: dict[str, Any] = {"feature_names": np.array(data.feature_names), "label_names": np.array(data.label_names)}
    for name, matrix in (("X", data.X), ("Y", data.Y if data.unknown is None else data.told())):
        if sparse.issparse(matrix):
            csr = sparse.csr_matrix(matrix)
            parts = {"data": csr.data, "indices": csr.indices, "indptr": csr.indptr, "shape": np.array(csr.shape)}
            arrays |= {f"{name}_{key}": value for key, value in parts.items()}
        else:
            arrays[name] = matrix
    np.savez_compressed(path, **arrays)


def _matrix(path: Path | str, arrays: dict[str, Any], name: str, known: int | None) -> Any:
    matrix = arrays[name] if name in arrays else _csr(path, arrays, name)
    if matrix.ndim != 2 or matrix.dtype.kind not in "biuf":
        raise ParseError(f"{name} must be a matrix (rows, columns) of numbers, not {matrix.shape} of {shown(matrix.dtype)}", path)
    most = most_columns(int(matrix.size), known)
    if matrix.shape[1] > most:
        size = f"{matrix.shape[1]} columns, more than the {most} of an array of its size"
        raise ParseError(f"{name} has {size}: number those that occur from 0", path)
    return matrix


def _csr(path: Path | str, arrays: dict[str, Any], name: str) -> sparse.csr_matrix:
    if not all(f"{name}{key}" in arrays for key in KEYS[1:]):
        mend = "; to predict a file that has no labels, say --unlabelled" if name == "Y" else ""
        raise ParseError(f"no array {name!r}, nor {name}_data, {name}_indices, {name}_indptr, {name}_shape{mend}", path)
    data, indices, indptr, shape = parts = [arrays[f"{name}{key}"] for key in KEYS[1:]]
    for part, key, kinds in zip(parts, KEYS[1:], ("biuf", "iu", "iu", "iu"), strict=True):
        if part.ndim != 1 or part.dtype.kind not in kinds:
            what = "numbers" if "f" in kinds else "whole numbers"
            raise ParseError(f"{name}{key} must be a list of {what}, not {part.shape} of {shown(part.dtype)}", path)
    if data.dtype.kind == "f" and data.dtype.itemsize not in (4, 8):  # SciPy counts with no other
        data = _double(data)
    try:
        matrix = sparse.csr_matrix((data, indices, indptr), shape=tuple(shape))
        matrix.check_format(full_check=True)  # an index beyond the shape would be read from foreign memory
    except (ValueError, TypeError, IndexError, OverflowError, MemoryError) as error:
        raise ParseError(f"{name}_data, {name}_indices, {name}_indptr, {name}_shape are no CSR matrix ({error})", path) from error
    matrix.sum_duplicates()
    return matrix


def _double(values: NDArray[Any]) -> NDArray[np.float64]:
    """In double precision; what is beyond it infinite."""
    with np.errstate(over="ignore", invalid="ignore"):  # some bits are a NaN that says so
        return values.astype(np.float64, copy=False)


def _check_finite(path: Path | str, X: Any) -> None:
    """ParseError for what is infinite, or would be in double precision; NaN is a missing cell."""
    values = X.data if sparse.issparse(X) else X
    if values.dtype.kind != "f":
        return
    infinite = np.isinf(_double(values))
    if infinite.any():
        at = int(np.argmax(infinite))
        if sparse.issparse(X):
            row, column = int(np.searchsorted(X.indptr, at, side="right")) - 1, X.indices[at]
        else:
            row, column = divmod(at, X.shape[1])
        raise ParseError(f"X is infinite in row {row}, column {column} (from 0): put NaN where a cell is missing", path)


def _names(path: Path | str, arrays: dict[str, Any], key: str, n: int, prefix: str) -> tuple[str, ...]:
    if key not in arrays:
        return tuple(f"{prefix}{i}" for i in range(n))
    names = np.atleast_1d(arrays[key])
    if names.shape != (n,):
        raise ParseError(f"{key} has {' x '.join(map(str, names.shape))} names for {n} columns", path)
    return tuple(map(str, names))
