"""Scores of tagged sentences as ratios of sums: each sentence gives a numerator and a denominator, (sentences, 2).

    accuracy   correct tags / tags
    span-f1    2 true positives / (spans found + spans there)            the standard scorer's micro F1

So scores of any part of the sentences, and of bootstrap draws of them, are sums of their rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from enstruct.data.tag_schemes import find_spans
from enstruct.errors import DataError, unknown_name

Tags = Sequence[Sequence[str]]


def accuracy_counts(truth: Tags, predicted: Tags) -> NDArray[np.float64]:
    """(sentences, 2) correct tags and tags."""
    _check(truth, predicted)
    rows = [(sum(a == b for a, b in zip(t, p, strict=True)), len(t)) for t, p in zip(truth, predicted, strict=True)]
    return np.array(rows, dtype=np.float64).reshape(-1, 2)


def span_counts(truth: Tags, predicted: Tags) -> NDArray[np.float64]:
    """(sentences, 2) twice the spans in both, and the spans in either, counted twice where in both."""
    _check(truth, predicted)
    rows = []
    for t, p in zip(truth, predicted, strict=True):
        there, found = set(find_spans(t)), set(find_spans(p))
        rows.append((2 * len(there & found), len(there) + len(found)))
    return np.array(rows, dtype=np.float64).reshape(-1, 2)


def ratio(counts: NDArray[np.float64]) -> float:
    """Sum of numerators over sum of denominators; 0 if there is nothing to count."""
    above, below = counts.sum(0)
    return float(above / below) if below else 0.0


TAG_METRICS: dict[str, Callable[[Tags, Tags], NDArray[np.float64]]] = {"accuracy": accuracy_counts, "span-f1": span_counts}


def get_tag_metric(name: str) -> Callable[[Tags, Tags], NDArray[np.float64]]:
    """The function of ``TAG_METRICS`` called so; ConfigError names the nearest."""
    if name not in TAG_METRICS:
        raise unknown_name("tag metric", name, TAG_METRICS)
    return TAG_METRICS[name]


def span_f1(truth: Tags, predicted: Tags) -> float:
    """Micro F1 of spans."""
    return ratio(span_counts(truth, predicted))


def token_accuracy(truth: Tags, predicted: Tags) -> float:
    return ratio(accuracy_counts(truth, predicted))


def _check(truth: Tags, predicted: Tags) -> None:
    if len(truth) != len(predicted):
        raise DataError(f"There are {len(truth)} true sentences and {len(predicted)} predicted ones.")
    for i, (t, p) in enumerate(zip(truth, predicted, strict=True)):
        if len(t) != len(p):
            raise DataError(f"Sentence {i} has {len(t)} true tags and {len(p)} predicted ones.")
