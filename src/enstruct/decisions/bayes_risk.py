r"""Minimum-Bayes-risk decoding through the energy.

An energy that estimates a density turns samples of the predictor into a weighted sample of the joint
distribution it has learnt, dependencies included:

    y_1..y_S ~ P(. | F(x)),     w_j ∝ [ q(y_j) / P(y_j) ]^alpha
    q = exp(-E)/Z      (NCE)        ->  log w = alpha (-E - log P)
    q = P exp(-E)/Z    (ranking)    ->  log w = alpha (-E)

Margin and regression energies estimate no density and are refused. ``alpha`` tempers the weights
(0: independent marginals, 1: the energy in full) and is chosen on validation rows.

The decision maximises sum_j w_j gain(ŷ, y_j). For F1 the maximiser over *all* label sets is found exactly
(the general F-measure maximiser, Dembczynski et al. 2011): for each size k take the k labels with the largest

    G_k[i] = sum_j w_j y_ji 2 / (k + |y_j|)          value(k) = sum of those k;   value(0) = sum_j w_j [|y_j| = 0]

For Hamming it is the weighted marginals at 1/2; for subset accuracy the heaviest distinct sample.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from enstruct.data.rows import as_indicator
from enstruct.decisions.remembered import Remembered
from enstruct.decisions.thresholds import fitting_rows, indicator
from enstruct.errors import ConfigError
from enstruct.metrics import get_metric

MOST_LABELS = 2000
"""Beyond so many it is not among the rules that are tried by themselves: its samples take longer than all else."""
ALPHAS = (0.0, 0.05, 0.1, 0.25, 0.5, 1.0)

Gain = Literal["f1", "hamming", "subset"]
GAINS: dict[str, Gain] = {"hamming": "hamming", "subset-accuracy": "subset"}
"""By metric; for any other one F1."""


class Posterior(Protocol):
    """Weighted samples of a fitted model. ``weigh(X)`` yields, chunk after chunk of rows, the samples
    (rows, samples, labels) as one CSR matrix of rows*samples vectors and log-weights (rows, samples) at alpha = 1."""

    def weigh(self, X: Any) -> Any: ...


@dataclass
class BayesRisk:
    posterior: Posterior | None = None
    alpha: float = 1.0
    gain: Gain = "f1"
    allow_empty: bool = True

    def fit(self, p: NDArray[Any], truth: Any, metric: str = "example-f1", weight: Any = None, X: Any = None) -> BayesRisk:
        """Choose ``alpha`` of ``ALPHAS`` on validation rows (``p`` is not used: the samples speak)."""
        return self.fit_to(self.remembered(p, X), np.arange(X.shape[0]), truth, metric, weight)

    def remembered(self, p: NDArray[Any], X: Any) -> Remembered:
        """What it decodes of these rows; their samples are drawn, and weighed, once for all settings that are asked together."""

        def decoded(settings: Sequence[Any], rows: NDArray[np.intp]) -> list[sparse.csr_matrix]:
            parts: list[list[sparse.csr_matrix]] = [[] for _ in settings]
            for samples, weight in self._posterior().weigh(X[rows]):
                for part, (alpha, gain, empty) in zip(parts, settings, strict=True):
                    part.append(minimum_risk(samples, alpha * weight, gain, empty))
            return [sparse.vstack(part, format="csr") for part in parts]

        return Remembered(decoded, (p.shape[0], p.shape[1]))

    def fit_to(self, sets: Remembered, rows: NDArray[np.intp], truth: Any, metric: str, weight: Any = None) -> BayesRisk:
        """:meth:`fit` on those rows, ``truth`` and ``weight`` being theirs, of which ``sets`` holds what was decoded."""
        y, score = as_indicator(truth), get_metric(metric)
        self.gain = GAINS.get(metric, "f1")
        self.allow_empty = bool((y.sum(1) == 0).any())
        some = fitting_rows(*y.shape)
        y, weight = y[some], None if weight is None else np.asarray(weight)[some]
        answers = sets.under([(alpha, self.gain, self.allow_empty) for alpha in ALPHAS], rows[some])
        self.alpha = ALPHAS[int(np.argmax([score(y, each, weight) for each in answers]))]
        return self

    def of(self, sets: Remembered, rows: NDArray[np.intp]) -> sparse.csr_matrix:
        """:meth:`predict` of those rows."""
        return sets.under([(self.alpha, self.gain, self.allow_empty)], rows)[0]

    def predict(self, p: NDArray[Any], X: Any = None) -> sparse.csr_matrix:
        chunks = self._posterior().weigh(X)
        parts = [minimum_risk(samples, self.alpha * weight, self.gain, self.allow_empty) for samples, weight in chunks]
        return sparse.vstack(parts, format="csr")

    def _posterior(self) -> Posterior:
        if self.posterior is None:
            raise ConfigError("Minimum-Bayes-risk decoding needs a method whose energy estimates a density: NCE or ranking.")
        return self.posterior


def minimum_risk(
    samples: sparse.csr_matrix, log_weight: NDArray[Any], gain: Gain = "f1", allow_empty: bool = True
) -> sparse.csr_matrix:
    """The best set of each row: ``samples`` CSR (rows * S, labels) in row-major order, ``log_weight`` (rows, S)."""
    rows, n_samples = log_weight.shape
    weight = np.exp(log_weight - log_weight.max(1, keepdims=True))
    weight /= weight.sum(1, keepdims=True)
    y, columns = _compact(samples, rows, n_samples)
    if gain == "f1":
        chosen = _f1_maximiser(y, weight, allow_empty)
    elif gain == "hamming":
        chosen = np.einsum("rs,rst->rt", weight, y) > 0.5
    else:
        chosen = _heaviest_sample(y, weight)
    row, place = np.nonzero(chosen & (columns >= 0))
    return indicator(row, columns[row, place], (rows, samples.shape[1]))


def _compact(samples: sparse.csr_matrix, rows: int, n_samples: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Dense (rows, S, T) over the labels each row's samples contain, and those labels (rows, T), padded with -1."""
    vector = np.repeat(np.arange(samples.shape[0]), np.diff(samples.indptr))
    row, label = vector // n_samples, samples.indices
    present = np.zeros((rows, samples.shape[1]), dtype=bool)
    present[row, label] = True
    place = present.cumsum(1) - 1  # of each label among the row's own
    T = max(1, int(place[:, -1].max()) + 1)
    columns = np.full((rows, T), -1, dtype=np.int64)
    owner, own_label = np.nonzero(present)
    columns[owner, place[owner, own_label]] = own_label
    y = np.zeros((rows, n_samples, T), dtype=np.float32)
    y[row, vector % n_samples, place[row, label]] = 1
    return y, columns


def _f1_maximiser(y: NDArray[np.float32], weight: NDArray[Any], allow_empty: bool) -> NDArray[np.bool_]:
    """k labels have value(k) <= 2 sum(their marginals) / (k + least size), and <= 2 m / (k + m), m the mean size (Jensen's
    inequality). Rows for which that does not rule out more labels than are looked at first are looked at again, one by one."""
    T, size = y.shape[2], y.sum(2)  # (rows, S)
    limit = int(min(T, 2 * size.max() + 1))
    chosen, value = _best_of_sizes(y, weight, size, limit)
    if limit < T:
        k, mean = np.arange(limit + 1, T + 1), (weight * size).sum(1, keepdims=True)
        marginals = -np.sort(-np.einsum("rs,rst->rt", weight, y), axis=1)
        sums = np.cumsum(marginals, axis=1)[:, limit:]
        bound = np.minimum(2 * sums / (k + size.min(1, keepdims=True)), 2 * mean / (k + mean))
        for row in np.flatnonzero((bound > value[:, None]).any(1)):
            one, needed = slice(row, row + 1), int(k[bound[row] > value[row]].max())
            chosen[one], value[one] = _best_of_sizes(y[one], weight[one], size[one], needed)
    if allow_empty:
        chosen[(weight * (size == 0)).sum(1) > value] = False
    return chosen


def _best_of_sizes(
    y: NDArray[np.float32], weight: NDArray[Any], size: NDArray[np.float32], limit: int
) -> tuple[NDArray[np.bool_], NDArray[Any]]:
    """The best sets (rows, T) of 1 to ``limit`` labels, and what they are worth."""
    rows, _, T = y.shape
    k = np.arange(1, limit + 1)
    factor = (-2 * weight[:, None, :] / (k[None, :, None] + size[:, None, :])).astype(np.float32)  # (rows, K, S)
    losses = factor @ y  # (rows, K, T): -G_k[i]
    largest = np.sort(losses, axis=2)[:, :, :limit]  # values alone: many times faster than their order, needed for one k only
    value = -np.cumsum(largest, 2)[:, k - 1, k - 1]
    best = value.argmax(1)
    order = np.argsort(losses[np.arange(rows), best], axis=1, kind="stable")
    chosen = np.zeros((rows, T), dtype=bool)
    np.put_along_axis(chosen, order, np.arange(T) <= best[:, None], axis=1)
    return chosen, value.max(1)


def _heaviest_sample(y: NDArray[np.float32], weight: NDArray[Any]) -> NDArray[np.bool_]:
    size = y.sum(2)
    shared = y @ y.transpose(0, 2, 1)  # (rows, S, S)
    same = (shared == size[:, :, None]) & (shared == size[:, None, :])
    value = np.einsum("rij,rj->ri", same.astype(float), weight)
    return np.asarray(y[np.arange(len(y)), value.argmax(1)] > 0.5)
