"""From arrays and label indicators to training rows: weights, merged duplicates, rows held out.

Identical rows (same features, same labels) are merged into one with their weights added, and rows are
kept in an order that depends on their content alone. So a weight of 2 is the same as two copies, the order
of the rows does not matter, and no copy of a training row is ever a validation row.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import _check_sample_weight

from enstruct.data.mapped import MappedRows
from enstruct.data.rows import Rows
from enstruct.data.splits import holdout
from enstruct.errors import ConfigError, DataError, shown
from enstruct.estimators.label_format import LabelFormat
from enstruct.validation import not_negative

LEAST_TO_HOLD_OUT = 60
"""Rows from which on a part is held out without being asked for."""
MOST_CELLS = 2**26
"""Of the validation rows that decision rules are fitted to: a table of so many marginals is half a gigabyte."""


def label_rows(X: Any, y: Any, sample_weight: Any, labels: LabelFormat, class_weight: Any = None) -> Rows:
    """Validated X with y as an indicator. The weights of a single label's classes weigh on its rows. DataError."""
    indicator = labels.encode(y)
    if indicator.shape[0] != X.shape[0]:
        raise DataError(
            f"Found input variables with inconsistent numbers of samples: X has {X.shape[0]}, y has {indicator.shape[0]}."
        )
    weight = None if sample_weight is None else row_weights(sample_weight, X)
    if labels.kind == "single" and class_weight is not None:
        per_class = class_weights(class_weight, indicator, labels.classes)
        weight = (1.0 if weight is None else weight) * np.asarray(indicator @ per_class).ravel()
    return Rows(X, indicator, weight)


def hold_out(rows: Rows, early_stopping: bool | str, fraction: float, seed: int) -> tuple[Rows, Rows | None]:
    """(training rows, validation rows or None), stratified. DataError where nothing would be left to train on."""
    n = len(rows)
    if not early_stopping or (early_stopping == "auto" and n < LEAST_TO_HOLD_OUT):
        return rows, None
    train, validation = holdout(rows.Y, fraction, seed) if ceil(fraction * n) < n else (np.arange(0), np.arange(n))
    if not len(train) or not len(validation):
        raise DataError(
            f"{n} distinct rows are too few to hold out validation_fraction={fraction:g}: nothing would be left to train on."
        )
    return rows.take(train), rows.take(validation)


def for_rules(rows: Rows) -> Rows:
    """These rows, or as many of them, evenly spread, as have no more than ``MOST_CELLS``, two at least."""
    most = max(2, MOST_CELLS // max(1, rows.Y.shape[1]))
    return rows if len(rows) <= most else rows.take(np.linspace(0, len(rows) - 1, most).astype(int))


def row_weights(sample_weight: Any, X: Any) -> NDArray[Any]:
    """(rows,). DataError for weights of another number, negative ones, all zero, and what is no number."""
    try:
        weight = np.asarray(_check_sample_weight(sample_weight, X, ensure_non_negative=True))
    except (ValueError, TypeError) as error:
        raise DataError(f"sample_weight: {error}") from error
    if not np.isfinite(weight).all():
        raise DataError(f"sample_weight must be finite, not {shown(sample_weight)}.")
    if len(weight) and not weight.sum() > 0:
        raise DataError("Every sample weight is zero.")
    return weight


def proportional(weight: Any, unit: float | None = None) -> NDArray[np.float64] | None:
    """Weights over ``unit``, by default their mean; None where all come to 1."""
    weight = np.asarray(weight, dtype=np.float64)
    weight = weight / (weight.mean() if unit is None else unit)
    return None if np.allclose(weight, 1) else weight


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
    first, group = same_rows(rows)
    total = np.bincount(group, weight)
    keep = total > 0
    if not keep.any():
        raise DataError("Every sample weight is zero.")
    merged = rows.take(first[keep])
    total = total[keep] / (total[keep].mean() if even else 1.0)
    return Rows(merged.X, merged.Y, None if np.allclose(total, 1) else total)


def same_rows(rows: Rows) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """(first of each group of equal rows, in an order of their content; the group of every row)."""
    _, first, group = np.unique(_row_digests(rows), return_index=True, return_inverse=True)
    return first, group


def _row_digests(rows: Rows) -> NDArray[np.bytes_]:
    features, labels = _row_bytes(rows.X), _row_bytes(rows.Y)
    digests = [hashlib.blake2b(a + b"|" + b, digest_size=16).hexdigest() for a, b in zip(features, labels, strict=True)]
    return np.array(digests, dtype="S32")


def _row_bytes(matrix: Any) -> Iterator[bytes]:
    if isinstance(matrix, MappedRows):
        return (row for block in matrix.blocks() for row in _row_bytes(block))
    if matrix.dtype.kind == "O":  # texts
        return (text.encode() for text in matrix)
    if not sparse.issparse(matrix):
        return ((row + 0.0).tobytes() for row in np.asarray(matrix))  # -0.0 becomes 0.0
    csr = sparse.csr_matrix(matrix, copy=True)
    csr.sum_duplicates()
    csr.eliminate_zeros()
    bounds = zip(csr.indptr, csr.indptr[1:], strict=False)
    return (csr.indices[a:b].tobytes() + csr.data[a:b].tobytes() for a, b in bounds)


def class_weights(class_weight: Any, Y: sparse.csr_matrix, classes: NDArray[Any]) -> NDArray[np.float64]:
    """(classes,) weight of the rows of each class where a row has one. "balanced": rows / (classes * rows of the class)."""
    if class_weight == "balanced":
        counts = np.asarray(Y.sum(0, dtype=float)).ravel()
        return Y.shape[0] / (len(classes) * np.maximum(counts, 1))
    weights = positive_weights(class_weight, Y, classes)
    return np.ones(len(classes)) if weights is None else weights


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
