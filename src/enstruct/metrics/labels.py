"""Metrics of label sets: two empty sets agree (F1 = 1), and nothing divides by zero.

Those of answers take indicator matrices (rows, labels), dense or CSR, and optional row weights; ``average_precision`` (NaN where
no label occurs), ``calibration_error`` and ``log_loss`` the truth and probabilities. All return a float, in [0, 1] but for
``log_loss``. Higher is better except for ``hamming_loss``, ``calibration_error`` and ``log_loss``.

A truth may have holes, NaN where a label is unknown or was told: only cells of the others, those observed, count, whatever is
answered in the holes. Rows without any are left out of means over rows, labels without any of means over labels.
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
SURE = 1e-6
"""Probabilities nearer to 0 or 1 are cut to it in ``log_loss``: 13.8 nats are the most that a cell can cost."""


class Agreement(NamedTuple):
    """Labels that each row has in both sets, in the true and in the predicted one, out of those observed, each (rows,)."""

    shared: NDArray[np.float64]
    true: NDArray[np.float64]
    predicted: NDArray[np.float64]
    observed: NDArray[np.float64]


def observed_cells(truth: Any) -> NDArray[np.bool_] | None:
    """(rows, labels) where a truth is not NaN; None where it has no holes."""
    values = truth.data if sparse.issparse(truth) else np.asarray(truth)
    if values.dtype.kind != "f" or not np.isnan(values).any():
        return None
    return ~np.isnan(truth.toarray() if sparse.issparse(truth) else values)


def _pair(truth: Any, predicted: Any) -> tuple[sparse.csr_matrix, sparse.csr_matrix, NDArray[np.bool_] | None]:
    """Both as indicators, with 0 in the holes of the truth, and :func:`observed_cells`."""
    observed, b = observed_cells(truth), as_indicator(predicted)
    a = as_indicator(truth if observed is None else _filled(truth, observed))
    if a.shape != b.shape:
        raise DataError(f"Truth has shape {a.shape} but the prediction {b.shape}.")
    return a, b if observed is None else as_indicator(b.multiply(observed)), observed


def _filled(truth: Any, observed: NDArray[np.bool_]) -> NDArray[Any]:
    return np.where(observed, truth.toarray() if sparse.issparse(truth) else truth, 0)


def _agreement(truth: Any, predicted: Any) -> Agreement:
    a, b, observed = _pair(truth, predicted)
    shared, true, chosen = (np.diff(each.indptr).astype(np.float64) for each in (a.multiply(b), a, b))  # each entry is 1
    width = np.full(len(true), float(a.shape[1])) if observed is None else observed.sum(1, dtype=np.float64)
    return Agreement(shared, true, chosen, width)


def rowwise_f1(truth: Any, predicted: Any) -> NDArray[np.float64]:
    """(rows,) F1 of each row's label set; NaN of a row of which nothing is observed."""
    shared, true, chosen, observed = _agreement(truth, predicted)
    total = true + chosen
    return np.where(observed > 0, np.where(total > 0, 2 * shared / np.maximum(total, 1e-12), 1.0), np.nan)


def rowwise_hamming(truth: Any, predicted: Any) -> NDArray[np.float64]:
    """(rows,) share of each row's decisions that are right; NaN of a row of which nothing is observed."""
    shared, true, chosen, observed = _agreement(truth, predicted)
    wrong = true + chosen - 2 * shared
    return 1 - np.divide(wrong, observed, out=np.full_like(wrong, np.nan), where=observed > 0)


def mean_counts(values: NDArray[np.float64]) -> Counts:
    """Of a mean over rows (rows,) that leaves out those that are NaN."""
    counted = ~np.isnan(values)
    return Counts.of(np.where(counted, values, 0.0), counted)


def _rows_f1(truth: Any, predicted: Any) -> Counts:
    return mean_counts(rowwise_f1(truth, predicted))


def _rows_hamming(truth: Any, predicted: Any) -> Counts:
    return mean_counts(rowwise_hamming(truth, predicted))


def _exact(truth: Any, predicted: Any) -> Counts:
    shared, true, chosen, observed = _agreement(truth, predicted)
    return mean_counts(np.where(observed > 0, (true == shared) & (chosen == shared), np.nan))


def _pooled(truth: Any, predicted: Any) -> Counts:
    shared, true, chosen, _ = _agreement(truth, predicted)
    return Counts.of(2 * shared, true + chosen)


def _by_label(truth: Any, predicted: Any) -> Counts:
    """A part a label that is observed anywhere, CSR."""
    *pair, observed = _pair(truth, predicted)
    seen = slice(None) if observed is None else np.flatnonzero(observed.any(0))
    a, b = (matrix[:, seen].astype(np.float64) for matrix in pair)
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
    truth, p, observed = _probabilities(truth, probabilities)
    y = truth.tocsc()
    seen = np.flatnonzero(np.diff(y.indptr))
    if not len(seen):
        return float("nan")
    if observed is not None:
        by_label = [_areas(y[observed[:, k], k].toarray(), p[observed[:, k], k]) for k in seen]
        return float(np.mean(np.concatenate(by_label)))
    areas = [_areas(y[:, columns].toarray(), p[:, columns]) for columns in np.array_split(seen, -(-len(seen) // BLOCK_LABELS))]
    return float(np.mean(np.concatenate(areas)))


def _probabilities(truth: Any, probabilities: Any) -> tuple[sparse.csr_matrix, NDArray[Any], NDArray[np.bool_] | None]:
    """Truth as an indicator with 0 in its holes, probabilities in its shape, and :func:`observed_cells`."""
    observed, p = observed_cells(truth), np.asarray(probabilities)
    y = as_indicator(truth if observed is None else _filled(truth, observed))
    if p.size != y.shape[0] * y.shape[1] or (p.ndim == 2 and min(p.shape) > 1 and p.shape != y.shape):
        raise DataError(f"Truth has shape {y.shape} but the probabilities {p.shape}.")
    return y, p.reshape(y.shape), observed


def _areas(true: NDArray[Any], p: NDArray[Any]) -> NDArray[np.float64]:
    """Of some labels. Rows stay together: of columns kept together scikit-learn copies all for every label."""
    from sklearn.metrics import average_precision_score  # only here: it takes longer to import than most of enstruct

    areas = average_precision_score(np.ascontiguousarray(true), np.ascontiguousarray(p), average=None)
    return np.atleast_1d(np.asarray(areas, dtype=np.float64))


def calibration_error(truth: Any, probabilities: Any, bins: int = 15) -> float:
    """Expected calibration error over all (row, label) decisions: sum_b share_b |mean p_b - rate_b|."""
    y, p, observed = _probabilities(truth, probabilities)
    gap = np.zeros(bins)
    for start in range(0, len(p), BLOCK_ROWS):
        rows = slice(start, start + BLOCK_ROWS)
        block = p[rows].astype(np.float64)
        which = np.minimum((block * bins).astype(int), bins - 1)
        counted = slice(None) if observed is None else observed[rows]
        gap += np.bincount(which[counted].ravel(), block[counted].ravel(), bins)
        gap -= np.bincount(which[y[rows].nonzero()], minlength=bins)
    return float(np.abs(gap).sum() / max(p.size if observed is None else int(observed.sum()), 1))


def log_loss(truth: Any, probabilities: Any, sample_weight: Any = None) -> float:
    """Mean over observed (row, label) cells of -log p(y | x) in nats; NaN where there is none. ``sample_weight`` (rows,).

    Probabilities count as no nearer to 0 and 1 than ``SURE``, so that one slip of a sure model leaves the mean finite.
    """
    y, p, observed = _probabilities(truth, probabilities)
    weight = np.ones(len(p)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    total, cells = 0.0, float(weight @ np.full(len(p), p.shape[1]) if observed is None else weight @ observed.sum(1))
    for start in range(0, len(p), BLOCK_ROWS):
        rows = slice(start, start + BLOCK_ROWS)
        block, true = np.clip(p[rows].astype(np.float64), SURE, 1 - SURE), y[rows].toarray().astype(bool)
        nats = -np.log(np.where(true, block, 1 - block))
        total += float(weight[rows] @ np.where(True if observed is None else observed[rows], nats, 0.0).sum(1))
    return total / cells if cells else float("nan")


def get_metric(name: str) -> Metric:
    """The one of ``METRICS`` called so; ConfigError names the nearest."""
    return named("metric", name, METRICS)
