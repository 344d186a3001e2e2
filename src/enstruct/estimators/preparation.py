"""From validated arrays to training rows: weights, merged duplicates, scaling.

Identical rows (same features, same labels) are merged into one with their weights added, and rows are
kept in an order that depends on their content alone. So a weight of 2 is the same as two copies, the order
of the rows does not matter, and no copy of a training row is ever a validation row.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import _check_sample_weight, validate_data

from enstruct.data.rows import Rows
from enstruct.errors import ConfigError, DataError, shown
from enstruct.methods import METHODS, Method
from enstruct.validation import not_negative


def validated(estimator: BaseEstimator, X: Any, reset: bool) -> Any:
    """X as float rows, dense or CSR; every objection of scikit-learn's becomes a DataError."""
    try:
        X = validate_data(estimator, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=reset)
    except (ValueError, TypeError) as error:
        column = _unreadable_column(X) if isinstance(error, TypeError) or "could not convert" in str(error) else None
        if column is None and isinstance(error, TypeError):
            raise
        raise DataError(f"{error}{column or ''}") from error
    if sparse.issparse(X) and X.indices.dtype == np.int64 and max(X.nnz, *X.shape) < 2**31:
        return sparse.csr_matrix((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), X.shape)  # liblinear's
    return X


def _unreadable_column(X: Any) -> str | None:
    """Of a data frame of pandas: the first column that is no numbers, and what to do about it."""
    for position, name in enumerate(X.columns if hasattr(X, "iloc") else ()):
        column = X.iloc[:, position]  # two may have one name
        try:
            if column.dtype.kind in "mM":
                raise TypeError
            np.asarray(column, dtype=np.float64)
        except (ValueError, TypeError):
            return f" (column {name!r} holds {column.dtype}: make numbers of it, or leave it out)"
    return None


def in_single_precision(X: Any) -> Any:
    """DataError for numbers beyond it, which would be infinite."""
    with np.errstate(over="ignore"):
        single = X.astype(np.float32)
    if not np.isfinite(single.data if sparse.issparse(single) else single).all():
        raise DataError(f"X holds numbers beyond {np.finfo(np.float32).max:.1g}, which networks cannot take: scale it.")
    return single


def row_weights(sample_weight: Any, X: Any) -> NDArray[Any]:
    """(rows,). DataError for weights of another number, negative ones and what is no number."""
    try:
        weight = np.asarray(_check_sample_weight(sample_weight, X, ensure_non_negative=True))
    except (ValueError, TypeError) as error:
        raise DataError(f"sample_weight: {error}") from error
    if not np.isfinite(weight).all():
        raise DataError(f"sample_weight must be finite, not {shown(sample_weight)}.")
    return weight


def with_weight(rows: Rows) -> Rows:
    """Without those of weight 0. DataError if none is left."""
    if rows.weight is None or (rows.weight > 0).all():
        return rows
    if not (rows.weight > 0).any():
        raise DataError("No validation row has a weight: class_weight is 0 for all their classes.")
    return rows.take(np.flatnonzero(rows.weight > 0))


def merge_duplicates(rows: Rows, even: bool = True) -> Rows:
    """Rows of weight 0 leave; equal rows become one; the weights that remain average 1 if ``even`` (None if all are 1)."""
    weight = np.ones(len(rows)) if rows.weight is None else np.asarray(rows.weight, dtype=float)
    keys = _row_digests(rows)
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    total = np.bincount(group, weight)
    keep = total > 0
    if not keep.any():
        raise DataError("Every sample weight is zero.")
    merged = rows.take(first[keep])
    total = total[keep] / (total[keep].mean() if even else 1.0)
    return Rows(merged.X, merged.Y, None if np.allclose(total, 1) else total)


def _row_digests(rows: Rows) -> NDArray[np.bytes_]:
    features, labels = _row_bytes(rows.X), _row_bytes(rows.Y)
    digests = [hashlib.blake2b(a + b"|" + b, digest_size=16).hexdigest() for a, b in zip(features, labels, strict=True)]
    return np.array(digests, dtype="S32")


def _row_bytes(matrix: Any) -> Iterator[bytes]:
    if not sparse.issparse(matrix):
        return ((row + 0.0).tobytes() for row in np.asarray(matrix))  # -0.0 becomes 0.0
    csr = sparse.csr_matrix(matrix, copy=True)
    csr.sum_duplicates()
    csr.eliminate_zeros()
    bounds = zip(csr.indptr, csr.indptr[1:], strict=False)
    return (csr.indices[a:b].tobytes() + csr.data[a:b].tobytes() for a, b in bounds)


def make_scaler(standardize: bool | str, X: Any) -> Any:
    """A fitted scikit-learn scaler or None.

    "auto": dense features that are not all 0/1 get zero mean and unit variance; CSR features beyond [-1, 1]
    are divided by their largest absolute value (centring would fill them in). "tfidf": counts or 0/1 features times
    log((1 + rows) / (1 + rows that have the feature)) + 1, then rows of length 1 (scikit-learn's ``TfidfTransformer``; CSR out).
    """
    if isinstance(standardize, (bool, np.bool_)) and not standardize:
        return None
    from sklearn.preprocessing import MaxAbsScaler, StandardScaler  # only here: it takes half as long to import as enstruct

    if isinstance(standardize, str) and standardize == "tfidf":
        if not weighable(X):
            raise ConfigError(
                "Negative values in data passed to tf-idf, which weighs counts or 0/1 features: use standardize='auto' and "
                "another method."
            )
        from sklearn.feature_extraction.text import TfidfTransformer

        return TfidfTransformer().fit(X)
    if sparse.issparse(X):
        beyond = X.nnz > 0 and np.abs(X.data).max() > 1
        return MaxAbsScaler().fit(X) if beyond or not isinstance(standardize, str) else None
    if isinstance(standardize, str) and np.isin(X, (0, 1)).all():
        return None
    return StandardScaler().fit(X)


def weighs_counts(standardize: Any, method: Any) -> bool:
    """Whether an estimator with these parameters takes numbers from 0 on alone, whatever these are: tags are read early."""
    row = method if isinstance(method, Method) else METHODS.get(method) if isinstance(method, str) else None
    scaling = row.scaling if isinstance(standardize, str) and standardize == "auto" and row is not None else standardize
    return isinstance(scaling, str) and scaling == "tfidf"


def seen_columns(X: Any) -> NDArray[np.intp] | None:
    """Which CSR columns are ever other than 0 in the training rows; None for all of them, or dense features.

    The weights of the others are never trained: with them in it a network on words adds noise to rows that have such words, and
    takes two thirds of its time and memory for nothing on a collection like RCV1.
    """
    if not sparse.issparse(X):
        return None
    seen = np.unique(sparse.csr_matrix(X).indices[X.data != 0])
    return None if len(seen) in (0, X.shape[1]) else seen


def weighable(X: Any) -> bool:
    """Whether no feature is negative, so that it may be a count."""
    return bool(X.shape[0] == 0 or X.min() >= 0)


def scaler_arrays(scaler: Any) -> dict[str, NDArray[Any]]:
    """The numbers a scaler has learnt."""
    if scaler is None:
        return {}
    from sklearn.feature_extraction.text import TfidfTransformer
    from sklearn.preprocessing import MaxAbsScaler

    if isinstance(scaler, TfidfTransformer):
        return {"idf": scaler.idf_}
    if isinstance(scaler, MaxAbsScaler):
        return {"scale": scaler.scale_}
    return {"mean": scaler.mean_, "scale": scaler.scale_}


def scaler_from_arrays(arrays: dict[str, NDArray[Any]]) -> Any:
    """The inverse of :func:`scaler_arrays`."""
    if not arrays:
        return None
    if "idf" in arrays:
        from sklearn.feature_extraction.text import TfidfTransformer

        weighting = TfidfTransformer()
        weighting.idf_, weighting.n_features_in_ = arrays["idf"], len(arrays["idf"])
        return weighting
    from sklearn.preprocessing import MaxAbsScaler, StandardScaler

    scaler: Any = StandardScaler() if "mean" in arrays else MaxAbsScaler()
    scaler.scale_ = arrays["scale"]
    scaler.n_features_in_ = len(arrays["scale"])
    if "mean" in arrays:
        scaler.mean_, scaler.var_ = arrays["mean"], arrays["scale"] ** 2
    else:
        scaler.max_abs_ = arrays["scale"]
    return scaler


def class_weights(class_weight: Any, Y: sparse.csr_matrix, classes: NDArray[Any]) -> NDArray[np.float64]:
    """(classes,) weight of the rows of each class where a row has one. "balanced": rows / (classes * rows of the class)."""
    if class_weight == "balanced":
        counts = np.asarray(Y.sum(0, dtype=float)).ravel()
        return Y.shape[0] / (len(classes) * np.maximum(counts, 1))
    found = positive_weights(class_weight, Y, classes)
    return np.ones(len(classes)) if found is None else found


def positive_weights(class_weight: Any, Y: sparse.csr_matrix, classes: NDArray[Any]) -> NDArray[np.float64] | None:
    """(labels,) weight of active labels in the supervised loss. "balanced": (negatives / positives), at most 20."""
    if class_weight is None:
        return None
    if class_weight == "balanced":
        positives = np.asarray(Y.sum(0, dtype=float)).ravel()
        return np.clip((Y.shape[0] - positives) / np.maximum(positives, 1), 1 / 20, 20)
    if not isinstance(class_weight, dict):
        raise ConfigError(f"class_weight must be None, 'balanced' or a dict, not {class_weight!r}.")
    known = set(classes.tolist())
    for label, weight in class_weight.items():
        if label not in known:
            raise ConfigError(f"class_weight names {label!r}, which is not among the classes.")
        not_negative(f"class_weight of {label!r}", weight)
    return np.array([float(class_weight.get(label, 1.0)) for label in classes.tolist()])
