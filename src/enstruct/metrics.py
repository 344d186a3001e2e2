"""Metrics of label sets: two empty sets agree (F1 = 1), and nothing divides by zero.

Those of answers take indicator matrices (rows, labels), dense or CSR, and optional row weights; ``average_precision`` (NaN where
no label occurs) and ``calibration_error`` the truth and probabilities. All return a float in [0, 1]. Higher is better except for
``hamming_loss`` and ``calibration_error``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from enstruct.data.rows import as_indicator
from enstruct.errors import DataError, unknown_name

Counts = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]
BLOCK_LABELS, BLOCK_ROWS = 128, 1024
"""How much of a matrix of probabilities is copied at a time."""


def _pair(truth: Any, predicted: Any) -> tuple[sparse.csr_matrix, sparse.csr_matrix]:
    a, b = as_indicator(truth), as_indicator(predicted)
    if a.shape != b.shape:
        raise DataError(f"Truth has shape {a.shape} but the prediction {b.shape}.")
    return a, b


def _counts(truth: Any, predicted: Any, axis: int, weight: Any = None) -> Counts:
    """Shared, true and predicted label counts per row (axis=1) or per label (axis=0)."""
    a, b = _pair(truth, predicted)
    if axis == 0 and weight is not None:
        scale = np.asarray(weight, dtype=float)[:, None]
        a_w, b_w = a.multiply(scale), b.multiply(scale)
        return _flat(b.multiply(a_w), 0), _flat(a_w, 0), _flat(b_w, 0)
    return _flat(a.multiply(b), axis), _flat(a, axis), _flat(b, axis)


def _flat(matrix: Any, axis: int) -> NDArray[np.float64]:
    return np.asarray(matrix.sum(axis=axis, dtype=np.float64)).ravel()


def _f1(shared: NDArray[Any], true: NDArray[Any], predicted: NDArray[Any]) -> NDArray[np.float64]:
    total = true + predicted
    return np.where(total > 0, 2 * shared / np.maximum(total, 1e-12), 1.0)


def rowwise_f1(truth: Any, predicted: Any) -> NDArray[np.float64]:
    """(rows,) F1 of each row's label set."""
    return _f1(*_counts(truth, predicted, axis=1))


def example_f1(truth: Any, predicted: Any, sample_weight: Any = None) -> float:
    """Mean over rows of 2|Y ∩ Ŷ| / (|Y| + |Ŷ|)."""
    return float(np.average(rowwise_f1(truth, predicted), weights=sample_weight))


def micro_f1(truth: Any, predicted: Any, sample_weight: Any = None) -> float:
    """F1 of all (row, label) decisions pooled."""
    shared, true, chosen = _counts(truth, predicted, axis=0, weight=sample_weight)
    return float(_f1(shared.sum(keepdims=True), true.sum(keepdims=True), chosen.sum(keepdims=True))[0])


def macro_f1(truth: Any, predicted: Any, sample_weight: Any = None) -> float:
    """Mean over labels of each label's F1; a label that is never true and never predicted counts 1."""
    return float(_f1(*_counts(truth, predicted, axis=0, weight=sample_weight)).mean())


def rowwise_hamming(truth: Any, predicted: Any) -> NDArray[np.float64]:
    """(rows,) share of each row's decisions that are right."""
    shared, true, chosen = _counts(truth, predicted, axis=1)
    return 1 - (true + chosen - 2 * shared) / _pair(truth, predicted)[0].shape[1]


def hamming_loss(truth: Any, predicted: Any, sample_weight: Any = None) -> float:
    """Share of (row, label) decisions that are wrong."""
    return 1 - float(np.average(rowwise_hamming(truth, predicted), weights=sample_weight))


def subset_accuracy(truth: Any, predicted: Any, sample_weight: Any = None) -> float:
    """Share of rows whose label set is exactly right."""
    shared, true, chosen = _counts(truth, predicted, axis=1)
    return float(np.average((true == shared) & (chosen == shared), weights=sample_weight))


def average_precision(truth: Any, probabilities: Any) -> float:
    """Mean over labels that occur of the area under the precision-recall curve."""
    truth, p = _probabilities(truth, probabilities)
    y = truth.tocsc()
    seen = np.flatnonzero(np.diff(y.indptr))
    if not len(seen):
        return float("nan")
    areas = [_areas(y[:, some].toarray(), p[:, some]) for some in np.array_split(seen, -(-len(seen) // BLOCK_LABELS))]
    return float(np.mean(np.concatenate(areas)))


def _probabilities(truth: Any, probabilities: Any) -> tuple[sparse.csr_matrix, NDArray[Any]]:
    y, p = as_indicator(truth), np.asarray(probabilities)
    if p.size != y.shape[0] * y.shape[1] or (p.ndim == 2 and min(p.shape) > 1 and p.shape != y.shape):
        raise DataError(f"Truth has shape {y.shape} but the probabilities {p.shape}.")
    return y, p.reshape(y.shape)


def _areas(true: NDArray[Any], p: NDArray[Any]) -> NDArray[np.float64]:
    """Of some labels. Rows stay together: of columns kept together scikit-learn copies all for every label."""
    from sklearn.metrics import average_precision_score  # only here: it takes longer to import than most of enstruct

    found = average_precision_score(np.ascontiguousarray(true), np.ascontiguousarray(p), average=None)
    return np.atleast_1d(np.asarray(found, dtype=np.float64))


def calibration_error(truth: Any, probabilities: Any, bins: int = 15) -> float:
    """Expected calibration error over all (row, label) decisions: sum_b share_b |mean p_b - rate_b|."""
    y, p = _probabilities(truth, probabilities)
    gap = np.zeros(bins)
    for start in range(0, len(p), BLOCK_ROWS):
        some = p[start : start + BLOCK_ROWS].astype(np.float64)
        which = np.minimum((some * bins).astype(int), bins - 1)
        true = y[start : start + BLOCK_ROWS].nonzero()
        gap += np.bincount(which.ravel(), some.ravel(), bins) - np.bincount(which[true], minlength=bins)
    return float(np.abs(gap).sum() / max(p.size, 1))


Metric = Callable[..., float]
METRICS: dict[str, Metric] = {
    "example-f1": example_f1,
    "micro-f1": micro_f1,
    "macro-f1": macro_f1,
    "hamming": lambda truth, predicted, sample_weight=None: 1 - hamming_loss(truth, predicted, sample_weight),
    "subset-accuracy": subset_accuracy,
}
"""The metrics a decision rule can be chosen for; all are "higher is better" (``hamming`` is 1 - loss)."""


ROWWISE: dict[str, Callable[[Any, Any], NDArray[np.float64]]] = {"example-f1": rowwise_f1, "hamming": rowwise_hamming}
"""The metrics that are means over rows, row by row."""


def get_metric(name: str) -> Metric:
    """The function of ``METRICS`` called so; ConfigError names the nearest."""
    if name not in METRICS:
        raise unknown_name("metric", name, METRICS)
    return METRICS[name]


example_f1_scorer: Any
micro_f1_scorer: Any
macro_f1_scorer: Any
_SCORED = {"example_f1_scorer": example_f1, "micro_f1_scorer": micro_f1, "macro_f1_scorer": macro_f1}


def __getattr__(name: str) -> object:
    """The scorers, for scikit-learn's searches, made when they are first asked for. AttributeError for other names."""
    if name not in _SCORED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from sklearn.metrics import make_scorer

    globals()[name] = scorer = make_scorer(_SCORED[name])
    return scorer
