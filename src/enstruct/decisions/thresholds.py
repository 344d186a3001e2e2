"""Decision rules that cut marginals p (rows, labels) at a threshold, or take the k best.

    GlobalThreshold:     y_l = [p_l >= t]
    ScaledThreshold:     y_l = [p_l >= t s_l^a]    s_l is label l's mean marginal over the largest such, a = 0 to 0.7
    PerLabelThresholds:  y_l = [p_l >= t_l]        t_l maximises label l's own F1
    TopK:                the k most probable labels

Each is fitted on validation rows by enumeration and applied to any marginals.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from enstruct.data.rows import as_indicator
from enstruct.metrics import Metric, get_metric

GRID = np.concatenate([np.arange(0.01, 0.10, 0.01), np.arange(0.10, 0.91, 0.02), [0.95]])
EXPONENTS, RAREST = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7), 1e-6
FIT_ROWS, FEWEST_FIT_ROWS, FIT_CELLS = 1000, 100, 2**20
"""Rows that a rule of one or two numbers is fitted to at most: as many as have so many labels, which is all of them up to a
thousand labels, and never fewer than the second."""
CELLS = 2**19
"""Marginals whose thresholds are counted at once, about."""


def fitting_rows(n: int, n_labels: int) -> NDArray[np.intp]:
    """Numbers of at most ``FIT_ROWS`` of n rows, evenly spaced."""
    most = min(FIT_ROWS, max(FEWEST_FIT_ROWS, FIT_CELLS // max(n_labels, 1)))
    return np.linspace(0, n - 1, min(n, most)).astype(np.intp)


def at_threshold(p: NDArray[Any], threshold: Any) -> sparse.csr_matrix:
    """Compared in double precision, as when the threshold was fitted: 0.01 in single precision is below 0.01."""
    return as_indicator(p >= np.asarray(threshold, dtype=np.float64))


@dataclass
class FixedThreshold:
    """y_l = [p_l >= 0.5]: what the papers call the prediction; needs no validation rows."""

    threshold: float = 0.5

    def fit(self, p: NDArray[Any], truth: Any, metric: str = "example-f1", weight: Any = None) -> FixedThreshold:
        return self

    def predict(self, p: NDArray[Any], X: Any = None) -> sparse.csr_matrix:
        return at_threshold(p, self.threshold)


@dataclass
class GlobalThreshold(FixedThreshold):
    def fit(self, p: NDArray[Any], truth: Any, metric: str = "example-f1", weight: Any = None) -> GlobalThreshold:
        """The best threshold of ``GRID`` for ``metric``."""
        self.threshold = float(GRID[int(np.argmax(scores_by_threshold(p, truth, metric, weight)))])
        return self


@dataclass
class ScaledThreshold:
    """Lower for rarer labels, by two numbers for all of them, ``exponent`` and t, which are best together for ``metric``.

    The threshold of the largest expected F1 is half of that F1 (Lipton et al. 2014), and rare labels' is lower; their own few
    positives would say little of it.
    """

    exponent: float = 0.0
    thresholds: Any = 0.5

    def fit(self, p: NDArray[Any], truth: Any, metric: str = "example-f1", weight: Any = None) -> ScaledThreshold:
        share = np.maximum(np.average(p, axis=0, weights=weight), RAREST)
        best = -np.inf
        for exponent in EXPONENTS:
            scale = (share / share.max()) ** exponent
            scores = scores_by_threshold(p / scale, truth, metric, weight)
            if scores.max() > best:
                best, self.exponent, self.thresholds = scores.max(), exponent, GRID[int(np.argmax(scores))] * scale
        return self

    def predict(self, p: NDArray[Any], X: Any = None) -> sparse.csr_matrix:
        return at_threshold(p, self.thresholds)


@dataclass
class PerLabelThresholds:
    """A label with fewer than ``min_positives`` validation positives keeps the global threshold."""

    min_positives: int = 5
    thresholds: Any = 0.5

    def fit(self, p: NDArray[Any], truth: Any, metric: str = "example-f1", weight: Any = None) -> PerLabelThresholds:
        y = as_indicator(truth)
        shared = GlobalThreshold().fit(p, truth, metric, weight).threshold
        best = GRID[np.argmax(label_f1_by_threshold(p, y, weight), axis=1)]
        positives = np.asarray(y.sum(0, dtype=np.int64)).ravel()
        self.thresholds = np.where(positives >= self.min_positives, best, shared)
        return self

    def predict(self, p: NDArray[Any], X: Any = None) -> sparse.csr_matrix:
        return at_threshold(p, self.thresholds)


@dataclass
class TopK:
    """The ``k`` most probable labels of every row, k fitted."""

    k: int = 1

    def fit(self, p: NDArray[Any], truth: Any, metric: str = "example-f1", weight: Any = None) -> TopK:
        score: Metric = get_metric(metric)
        limit = min(p.shape[1], max(10, int(2 * as_indicator(truth).sum(1).mean()) + 1))
        best, _ = ranked_labels(p, limit)
        counts = np.ones(len(p), dtype=np.int64)
        self.k = max(range(1, limit + 1), key=lambda k: score(truth, take_labels(best, k * counts, p.shape[1]), weight))
        return self

    def predict(self, p: NDArray[Any], X: Any = None) -> sparse.csr_matrix:
        return sets_of_size(p, self.k)


def sets_of_size(p: NDArray[Any], k: int) -> sparse.csr_matrix:
    """The ``k`` most probable labels of each row."""
    k = min(k, p.shape[1])
    return take_labels(np.sort(most_probable(p, k), axis=1), np.full(len(p), k), p.shape[1])


def most_probable(p: NDArray[Any], k: int) -> NDArray[np.intp]:
    """(rows, k) the most probable labels, in no order."""
    if k < p.shape[1]:
        return np.argpartition(-p, k - 1, axis=1)[:, :k]
    return np.tile(np.arange(k), (len(p), 1))


def ranked_labels(p: NDArray[Any], k: int) -> tuple[NDArray[np.intp], NDArray[Any]]:
    """(rows, k) the most probable labels, the best first, and their marginals."""
    best = most_probable(p, k)
    of_best = np.take_along_axis(p, best, 1)
    order = np.argsort(-of_best, axis=1, kind="stable")
    return np.take_along_axis(best, order, 1), np.take_along_axis(of_best, order, 1)


def take_labels(columns: NDArray[Any], counts: NDArray[Any], n_labels: int) -> sparse.csr_matrix:
    """Indicator of the first ``counts[i]`` entries of ``columns[i]``."""
    row, place = np.nonzero(np.arange(columns.shape[1]) < counts[:, None])
    return indicator(row, columns[row, place], (len(columns), n_labels))


def indicator(row: NDArray[np.intp], label: NDArray[np.intp], shape: tuple[int, ...]) -> sparse.csr_matrix:
    """CSR matrix of these cells, which come row after row."""
    offsets = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=shape[0]))])
    matrix = sparse.csr_matrix((np.ones(len(row), np.uint8), label, offsets), shape=shape)
    matrix.sort_indices()
    return matrix


def example_f1_by_threshold(p: NDArray[Any], truth: Any, weight: Any = None) -> NDArray[np.float64]:
    """(len(GRID),) example-F1 at every threshold, from one pass over the marginals above the smallest."""
    y = as_indicator(truth)
    parts = []
    for some in _some_at_a_time(p):
        row, label, level = _levels(p[some])
        rows = len(p[some])
        chosen, shared = (_passed(_met(row, level, rows, weight)) for weight in (None, _values(y[some], row, label)))
        total = chosen + np.asarray(y[some].sum(1, dtype=np.float64)).reshape(-1, 1)
        parts.append(_f1(shared, total, 1.0))
    return np.asarray(np.average(np.concatenate(parts), axis=0, weights=weight))


def label_f1_by_threshold(p: NDArray[Any], truth: Any, weight: Any = None) -> NDArray[np.float64]:
    """(labels, len(GRID)) every label's own F1 at every threshold, 0 where nothing is true or chosen; likewise."""
    shared, total = _counts_by_label(p, as_indicator(truth), weight)
    return _f1(shared, total, 0.0)


def _counts_by_label(p: NDArray[Any], y: sparse.csr_matrix, weight: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(labels, len(GRID)) the weight of rows where a label is true and chosen, and the sum of those where it is either."""
    share = np.ones(p.shape[0]) if weight is None else np.asarray(weight, dtype=np.float64)
    chosen, shared = np.zeros((2, p.shape[1], len(GRID)))
    for some in _some_at_a_time(p):
        row, label, level = _levels(p[some])
        of_cell = share[some][row]
        chosen += _met(label, level, p.shape[1], of_cell)
        shared += _met(label, level, p.shape[1], of_cell * _values(y[some], row, label))
    return _passed(shared), _passed(chosen) + np.asarray(y.T @ share).reshape(-1, 1)


def _f1(shared: NDArray[np.float64], total: NDArray[np.float64], of_nothing: float) -> NDArray[np.float64]:
    return np.asarray(np.where(total > 0, 2 * shared / np.where(total > 0, total, 1.0), of_nothing))


def _some_at_a_time(p: NDArray[Any]) -> Iterator[slice]:
    """Rows of about ``CELLS`` cells each: rare labels' marginals over their shares are all above the smallest threshold, and what
    is counted of such a cell takes far more memory than the cell. Never fewer rows than thresholds: counts are tables of labels
    by thresholds."""
    at_once = max(len(GRID), CELLS // max(1, p.shape[1]))
    return (slice(begin, begin + at_once) for begin in range(0, p.shape[0], at_once))


def _levels(p: NDArray[Any]) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """Row and label of the marginals above the smallest threshold, and the number of the highest that each passes."""
    row, label = np.nonzero(p >= GRID[0])
    return row, label, np.searchsorted(GRID, p[row, label], side="right") - 1


def _values(y: sparse.csr_matrix, row: NDArray[np.intp], label: NDArray[np.intp]) -> NDArray[np.float64]:
    return np.asarray(y[row, label], dtype=np.float64).ravel() if len(row) else np.zeros(0)


def _met(
    owner: NDArray[np.intp], level: NDArray[np.intp], owners: int, weight: NDArray[np.float64] | None = None
) -> NDArray[Any]:
    """(owners, len(GRID)): of every row or label, how many cells have this as the highest threshold that they pass, or their
    weight."""
    return np.bincount(owner * len(GRID) + level, weight, minlength=owners * len(GRID)).reshape(owners, -1)


def _passed(met: NDArray[Any]) -> NDArray[Any]:
    """(owners, len(GRID)) those at a threshold or above."""
    return met[:, ::-1].cumsum(1)[:, ::-1]


def scores_by_threshold(p: NDArray[Any], truth: Any, metric: str = "example-f1", weight: Any = None) -> NDArray[np.float64]:
    """(len(GRID),) the metric at every threshold."""
    if metric == "example-f1":
        return example_f1_by_threshold(p, truth, weight)
    score, y = get_metric(metric), as_indicator(truth)
    if metric in ("micro-f1", "macro-f1"):
        shared, total = _counts_by_label(p, y, weight)
        if metric == "micro-f1":
            return _f1(shared.sum(0), total.sum(0), 1.0)
        return np.asarray(_f1(shared, total, 1.0).mean(0))
    row, label = np.nonzero(p >= GRID[0])
    value = p[row, label]
    return np.array([score(y, indicator(row[above], label[above], p.shape), weight) for above in (value >= t for t in GRID)])


def best_threshold_score(p: NDArray[Any], truth: Any, metric: str = "example-f1", weight: Any = None) -> float:
    """The metric of marginals at the global threshold that is best for these very rows."""
    return float(scores_by_threshold(p, truth, metric, weight).max())
