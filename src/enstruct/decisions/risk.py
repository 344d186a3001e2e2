"""Decisions of least expected risk, on samples of a joint distribution.

    ŷ = argmax_y' mean_s gain(y_s, y')

For example-F1 and Hamming over all label sets, for subset accuracy the most probable of the sampled sets, for other gains the
best of the sampled sets (as far as they differ, ``MOST_CANDIDATES`` of them).
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from enstruct.data.rows import as_indicator
from enstruct.decisions.bayes_risk import minimum_risk
from enstruct.errors import ConfigError, DataError
from enstruct.validation import Check, one_of

Gain = Callable[[NDArray[np.uint8], NDArray[np.uint8]], NDArray[Any]]
"""``gain(truth, predicted)``, both (n, labels) -> (n,): higher is better."""
MOST_CANDIDATES = 64


def jaccard(truth: NDArray[np.uint8], predicted: NDArray[np.uint8]) -> NDArray[np.float64]:
    """(n,) shared labels over those in either; two empty sets agree."""
    shared, either = (truth & predicted).sum(1), (truth | predicted).sum(1)
    return np.where(either > 0, shared / np.maximum(either, 1), 1.0)


RISKS: dict[str, Any] = {"example-f1": "f1", "hamming": "hamming", "subset-accuracy": "subset", "jaccard": jaccard}
"""What ``decision=`` may name beside the rules on marginals."""
OF_TABLES = ("micro-f1", "macro-f1")
"""Of the rows that are asked together: what is best for them cuts each label at a threshold (Koyejo et al. 2015)."""


def decision_among(kind: str, names: Collection[str]) -> Check:
    """One of these names of a ``kind``; metrics that no row's answer can be best for are told from names that nobody knows."""
    known = one_of(kind, names)

    def check(name: str, value: Any) -> None:
        if isinstance(value, str) and value in OF_TABLES:
            raise ConfigError(
                f"{name}={value!r}: this metric is of whole tables, and no row has an answer of least risk for it. Make the "
                f"model with metric={value!r} and decision='auto', which fits the thresholds that it is largest at."
            )
        known(name, value)

    return check


def least_risk(
    samples: NDArray[np.uint8], gain: str | Gain, log_density: NDArray[Any] | None = None, allow_empty: bool = True
) -> sparse.csr_matrix:
    """(rows, labels) of samples (rows, S, labels). ``log_density`` (rows, S), up to a constant a row: the most probable sample is
    the one of the highest, where "subset" asks for it, instead of the one drawn most often. DataError for gains of another shape.
    """
    rows, n, labels = samples.shape
    if not rows:
        return sparse.csr_matrix((0, labels), dtype=np.uint8)
    if gain == "subset" and log_density is not None:
        return as_indicator(samples[np.arange(rows), log_density.argmax(1)])
    if isinstance(gain, str):
        stacked = sparse.csr_matrix(samples.reshape(rows * n, labels))
        return minimum_risk(stacked, np.zeros((rows, n)), gain, allow_empty)  # type: ignore[arg-type]
    return as_indicator(np.stack([_best_sample(of_row, gain) for of_row in samples]))


def _best_sample(samples: NDArray[np.uint8], gain: Gain) -> NDArray[np.uint8]:
    """(labels,) of samples (S, labels)."""
    distinct, counts = np.unique(samples, axis=0, return_counts=True)
    candidates = distinct[np.argsort(-counts, kind="stable")[:MOST_CANDIDATES]]
    expected = np.empty(len(candidates))
    for i, candidate in enumerate(candidates):
        try:
            gains = np.asarray(gain(distinct, np.broadcast_to(candidate, distinct.shape)), dtype=np.float64)
        except TypeError as error:
            raise DataError(
                f"decision=: a function is gain(truth, predicted), of label sets (n, labels) each: {error}."
            ) from error
        if gains.shape != (len(distinct),):
            raise DataError(f"decision=: a gain of {len(distinct)} label sets must be ({len(distinct)},), not {gains.shape}.")
        if np.isnan(gains).any():
            raise DataError("decision=: the gain of a label set is NaN; of two sets without labels, too, it must be a number.")
        expected[i] = counts @ gains
    return candidates[int(expected.argmax())]
