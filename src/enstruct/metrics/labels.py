"""Metrics of label sets: two empty sets agree (F1 = 1), and nothing divides by zero.

Those of answers take indicator matrices (rows, labels), dense or CSR, and optional row weights; ``average_precision`` (NaN where
no label occurs) and ``calibration_error`` the truth and probabilities. All return a float in [0, 1]. Higher is better except for
``hamming_loss`` and ``calibration_error``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from enstruct.data.rows import as_indicator
from enstruct.errors import DataError
from enstruct.metrics.base import Counts, Metric, named

BLOCK_LABELS, BLOCK_ROWS = 128, 1024
"""How much of a matrix of probabilities is copied at a time."""


class Agreement(NamedTuple):
    """Labels that each row has in both sets, in the true and in the predicted one, each (rows,), out of ``n_labels``."""

    shared: NDArray[np.float64]
    true: NDArray[np.float64]
    predicted: NDArray[np.float64]
    n_labels: int


def _pair(truth: Any, predicted: Any) -> tuple[sparse.csr_matrix, sparse.csr_matrix]:
    a, b = as_indicator(truth), as_indicator(predicted)
    if a.shape != b.shape:
        raise DataError(f"Truth has shape {a.shape} but the prediction {b.shape}.")
    return a, b


def _agreement(truth: Any, predicted: Any) -> Agreement:
    a, b = _pair(truth, predicted)
    shared, true, chosen = (np.asarray(each.sum(axis=1, dtype=np.float64)).ravel() for each in (a.multiply(b), a, b))
    return Agreement(shared, true, chosen, a.shape[1])


def rowwise_f1(truth: Any, predicted: Any) -> NDArray[np.float64]:
    """(rows,) F1 of each row's label set."""
    shared, true, chosen, _ = _agreement(truth, predicted)
    total = true + chosen
    return np.where(total > 0, 2 * shared / np.maximum(total, 1e-12), 1.0)


def rowwise_hamming(truth: Any, predicted: Any) -> NDArray[np.float64]:
    """(rows,) share of each row's decisions that are right."""
    shared, true, chosen, n_labels = _agreement(truth, predicted)
    return 1 - (true + chosen - 2 * shared) / n_labels


def _rows_f1(truth: Any, predicted: Any) -> Counts:
    return Counts.of(rowwise_f1(truth, predicted))


def _rows_hamming(truth: Any, predicted: Any) -> Counts:
    return Counts.of(rowwise_hamming(truth, predicted))


def _exact(truth: Any, predicted: Any) -> Counts:
    shared, true, chosen, _ = _agreement(truth, predicted)
    return Counts.of((true == shared) & (chosen == shared))


def _pooled(truth: Any, predicted: Any) -> Counts:
    shared, true, chosen, _ = _agreement(truth, predicted)
    return Counts.of(2 * shared, true + chosen)


def _by_label(truth: Any, predicted: Any) -> Counts:
    """A part a label, CSR."""
    a, b = (matrix.astype(np.float64) for matrix in _pair(truth, predicted))
    return Counts(2 * a.multiply(b).tocsr(), (a + b).tocsr())


METRICS: dict[str, Metric] = {
    "example-f1": Metric(_rows_f1),
    "micro-f1": Metric(_pooled, empty=1.0),
    "macro-f1": Metric(_by_label, empty=1.0),
    "hamming": Metric(_rows_hamming),
    "subset-accuracy": Metric(_exact),
}
"""The metrics a decision rule can be chosen for; all are "higher is better" (``hamming`` is 1 - loss)."""


def example_f1(truth: Any, predicted: Any, sample_weight: Any = None) -> float:
    """Mean over rows of 2|Y ∩ Ŷ| / (|Y| + |Ŷ|)."""
    return METRICS["example-f1"](truth, predicted, sample_weight)


def micro_f1(truth: Any, predicted: Any, sample_weight: Any = None) -> float:
    """F1 of all (row, label) decisions pooled."""
    return METRICS["micro-f1"](truth, predicted, sample_weight)


def macro_f1(truth: Any, predicted: Any, sample_weight: Any = None) -> float:
    """Mean over labels of each label's F1; a label that is never true and never predicted counts 1."""
    return METRICS["macro-f1"](truth, predicted, sample_weight)


def hamming_loss(truth: Any, predicted: Any, sample_weight: Any = None) -> float:
    """Share of (row, label) decisions that are wrong."""
    return 1 - METRICS["hamming"](truth, predicted, sample_weight)


def subset_accuracy(truth: Any, predicted: Any, sample_weight: Any = None) -> float:
    """Share of rows whose label set is exactly right."""
    return METRICS["subset-accuracy"](truth, predicted, sample_weight)


def average_precision(truth: Any, probabilities: Any) -> float:
    """Mean over labels that occur of the area under the precision-recall curve."""
    truth, p = _probabilities(truth, probabilities)
    y = truth.tocsc()
    seen = np.flatnonzero(np.diff(y.indptr))
    if not len(seen):
        return float("nan")
    areas = [_areas(y[:, columns].toarray(), p[:, columns]) for columns in np.array_split(seen, -(-len(seen) // BLOCK_LABELS))]
    return float(np.mean(np.concatenate(areas)))


def _probabilities(truth: Any, probabilities: Any) -> tuple[sparse.csr_matrix, NDArray[Any]]:
    y, p = as_indicator(truth), np.asarray(probabilities)
    if p.size != y.shape[0] * y.shape[1] or (p.ndim == 2 and min(p.shape) > 1 and p.shape != y.shape):
        raise DataError(f"Truth has shape {y.shape} but the probabilities {p.shape}.")
    return y, p.reshape(y.shape)


def _areas(true: NDArray[Any], p: NDArray[Any]) -> NDArray[np.float64]:
    """Of some labels. Rows stay together: of columns kept together scikit-learn copies all for every label."""
    from sklearn.metrics import average_precision_score  # only here: it takes longer to import than most of enstruct

    areas = average_precision_score(np.ascontiguousarray(true), np.ascontiguousarray(p), average=None)
    return np.atleast_1d(np.asarray(areas, dtype=np.float64))


def calibration_error(truth: Any, probabilities: Any, bins: int = 15) -> float:
    """Expected calibration error over all (row, label) decisions: sum_b share_b |mean p_b - rate_b|."""
    y, p = _probabilities(truth, probabilities)
    gap = np.zeros(bins)
    for start in range(0, len(p), BLOCK_ROWS):
        block = p[start : start + BLOCK_ROWS].astype(np.float64)
        which = np.minimum((block * bins).astype(int), bins - 1)
        true = y[start : start + BLOCK_ROWS].nonzero()
        gap += np.bincount(which.ravel(), block.ravel(), bins) - np.bincount(which[true], minlength=bins)
    return float(np.abs(gap).sum() / max(p.size, 1))


def get_metric(name: str) -> Metric:
    """The one of ``METRICS`` called so; ConfigError names the nearest."""
    return named("metric", name, METRICS)
