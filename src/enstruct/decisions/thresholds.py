"""Decision rules that cut marginals p (rows, labels) at a threshold, or take the k best.

    GlobalThreshold:     y_l = [p_l >= t]
    PerLabelThresholds:  y_l = [p_l >= t_l]        t_l maximises label l's own F1
    TopK:                the k most probable labels

Each is fitted on validation rows by enumeration and applied to any marginals.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from enstruct.data.rows import as_indicator
from enstruct.metrics import Metric, get_metric

GRID = np.concatenate([np.arange(0.01, 0.10, 0.01), np.arange(0.10, 0.91, 0.02), [0.95]])


def at_threshold(p: NDArray[Any], threshold: Any) -> sparse.csr_matrix:
    return as_indicator(p >= threshold)


@dataclass
class FixedThreshold:
    """y_l = [p_l >= 0.5]: what the papers call the prediction; needs no validation rows."""

    threshold: float = 0.5

    def fit(self, p: NDArray[Any], truth: Any, metric: str = "example-f1", weight: Any = None) -> FixedThreshold:
        return self

    def predict(self, p: NDArray[Any], X: Any = None) -> sparse.csr_matrix:
        return at_threshold(p, self.threshold)


@dataclass
class GlobalThreshold:
    threshold: float = 0.5

    def fit(self, p: NDArray[Any], truth: Any, metric: str = "example-f1", weight: Any = None) -> GlobalThreshold:
        """The best threshold of ``GRID`` for ``metric``."""
        self.threshold = float(GRID[int(np.argmax(scores_by_threshold(p, truth, metric, weight)))])
        return self

    def predict(self, p: NDArray[Any], X: Any = None) -> sparse.csr_matrix:
        return at_threshold(p, self.threshold)


@dataclass
class PerLabelThresholds:
    """A label with fewer than ``min_positives`` validation positives keeps the global threshold."""

    min_positives: int = 5
    thresholds: Any = 0.5

    def fit(self, p: NDArray[Any], truth: Any, metric: str = "example-f1", weight: Any = None) -> PerLabelThresholds:
        y = as_indicator(truth).toarray().astype(bool)
        shared = GlobalThreshold().fit(p, truth, metric, weight).threshold
        f1 = np.stack([_label_f1(p >= t, y, weight) for t in GRID])  # (grid, labels)
        best = GRID[np.argmax(f1, axis=0)]
        self.thresholds = np.where(y.sum(0) >= self.min_positives, best, shared)
        return self

    def predict(self, p: NDArray[Any], X: Any = None) -> sparse.csr_matrix:
        return at_threshold(p, self.thresholds)


@dataclass
class TopK:
    k: int = 1

    def fit(self, p: NDArray[Any], truth: Any, metric: str = "example-f1", weight: Any = None) -> TopK:
        score: Metric = get_metric(metric)
        limit = min(p.shape[1], max(10, int(2 * as_indicator(truth).sum(1).mean()) + 1))
        self.k = max(range(1, limit + 1), key=lambda k: score(truth, top_k(p, k), weight))
        return self

    def predict(self, p: NDArray[Any], X: Any = None) -> sparse.csr_matrix:
        return top_k(p, self.k)


def top_k(p: NDArray[Any], k: int) -> sparse.csr_matrix:
    """The ``k`` most probable labels of each row."""
    rows, n_labels = p.shape
    k = min(k, n_labels)
    columns = np.argpartition(-p, k - 1, axis=1)[:, :k] if k < n_labels else np.tile(np.arange(n_labels), (rows, 1))
    return take_labels(np.sort(columns, axis=1), np.full(rows, k), n_labels)


def take_labels(columns: NDArray[Any], counts: NDArray[Any], n_labels: int) -> sparse.csr_matrix:
    """Indicator of the first ``counts[i]`` entries of ``columns[i]``."""
    chosen = np.arange(columns.shape[1]) < counts[:, None]
    offsets = np.concatenate([[0], np.cumsum(counts)])
    data = np.ones(int(offsets[-1]), dtype=np.uint8)
    matrix = sparse.csr_matrix((data, columns[chosen], offsets), shape=(len(columns), n_labels))
    matrix.sort_indices()
    return matrix


def example_f1_by_threshold(p: NDArray[Any], truth: Any, weight: Any = None) -> NDArray[np.float64]:
    """(len(GRID),) example-F1 at every threshold, from one pass over the marginals above the smallest."""
    y = as_indicator(truth)
    rows, n_grid = p.shape[0], len(GRID)
    row, label = np.nonzero(p >= GRID[0])
    level = np.searchsorted(GRID, p[row, label], side="right") - 1  # the highest threshold it passes
    true = np.asarray(y[row, label]).ravel() if len(row) else np.zeros(0)
    cell = row * n_grid + level
    chosen = _passed(np.bincount(cell, minlength=rows * n_grid), rows)
    shared = _passed(np.bincount(cell, true, minlength=rows * n_grid), rows)
    total = chosen + np.asarray(y.sum(1, dtype=np.float64)).reshape(-1, 1)
    f1 = np.where(total > 0, 2 * shared / np.maximum(total, 1e-12), 1.0)
    return np.asarray(np.average(f1, axis=0, weights=weight))


def _passed(counts: NDArray[Any], rows: int) -> NDArray[Any]:
    """Per threshold, how many labels lie at it or above."""
    return counts.reshape(rows, -1)[:, ::-1].cumsum(1)[:, ::-1]


def _label_f1(chosen: NDArray[np.bool_], y: NDArray[np.bool_], weight: Any = None) -> NDArray[np.float64]:
    def count(table: NDArray[np.bool_]) -> NDArray[Any]:  # without weights the sum, which makes no table of floats
        return np.asarray(table.sum(0) if weight is None else np.asarray(weight, dtype=np.float64) @ table)

    shared, total = count(chosen & y), count(chosen) + count(y)
    return np.asarray(np.where(total > 0, 2 * shared / np.where(total > 0, total, 1.0), 0.0))


def scores_by_threshold(p: NDArray[Any], truth: Any, metric: str = "example-f1", weight: Any = None) -> NDArray[np.float64]:
    """(len(GRID),) the metric at every threshold."""
    if metric == "example-f1":
        return example_f1_by_threshold(p, truth, weight)
    return np.array([get_metric(metric)(truth, at_threshold(p, t), weight) for t in GRID])


def best_threshold_score(p: NDArray[Any], truth: Any, metric: str = "example-f1", weight: Any = None) -> float:
    """The metric of marginals at the global threshold that is best for these very rows."""
    return float(scores_by_threshold(p, truth, metric, weight).max())
