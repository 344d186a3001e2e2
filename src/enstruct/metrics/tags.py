"""Metrics of tagged sentences, a row being a sentence; 0 where there is nothing to count.

accuracy   correct tags / tags
span-f1    2 true positives / (spans found + spans there)            the standard scorer's micro F1

Where tags were told to the model (``known``: None where they were not), what counts are tokens that were not told, and spans with
such a token.
"""

from __future__ import annotations

from collections.abc import Sequence

from enstruct.data.tag_schemes import Span, find_spans
from enstruct.errors import DataError
from enstruct.metrics.base import Counts, Metric, named

Tags = Sequence[Sequence[str]]
Known = Sequence[Sequence[str | None]]


def accuracy_counts(truth: Tags, predicted: Tags, known: Known | None = None) -> Counts:
    """Correct tags, over tags."""
    _check(truth, predicted)
    asked = [[True] * len(t) for t in truth] if known is None else [[tag is None for tag in told] for told in known]
    correct = [
        sum(a == b and c for a, b, c in zip(t, p, q, strict=True)) for t, p, q in zip(truth, predicted, asked, strict=True)
    ]
    return Counts.of(correct, [sum(row) for row in asked])


def span_counts(truth: Tags, predicted: Tags, known: Known | None = None) -> Counts:
    """Twice the spans in both, over the spans in either, counted twice where in both."""
    _check(truth, predicted)
    if known is None:
        pairs = [(set(find_spans(t)), set(find_spans(p))) for t, p in zip(truth, predicted, strict=True)]
    else:
        rows = zip(truth, predicted, known, strict=True)
        pairs = [(asked_spans(t, told), asked_spans(p, told)) for t, p, told in rows]
    return Counts.of([2 * len(true & guessed) for true, guessed in pairs], [len(true) + len(guessed) for true, guessed in pairs])


def asked_spans(tags: Sequence[str], known: Sequence[str | None]) -> set[Span]:
    """Those with a token that was not told."""
    return {span for span in find_spans(tags) if any(known[t] is None for t in range(span.start, span.end))}


TAG_METRICS: dict[str, Metric] = {"accuracy": Metric(accuracy_counts), "span-f1": Metric(span_counts)}


def get_tag_metric(name: str) -> Metric:
    """The one of ``TAG_METRICS`` called so; ConfigError names the nearest."""
    return named("tag metric", name, TAG_METRICS)


def span_f1(truth: Tags, predicted: Tags) -> float:
    """Micro F1 of spans."""
    return TAG_METRICS["span-f1"](truth, predicted)


def token_accuracy(truth: Tags, predicted: Tags) -> float:
    """Share of correct tags."""
    return TAG_METRICS["accuracy"](truth, predicted)


def _check(truth: Tags, predicted: Tags) -> None:
    if len(truth) != len(predicted):
        raise DataError(f"There are {len(truth)} true sentences and {len(predicted)} predicted ones.")
    for i, (t, p) in enumerate(zip(truth, predicted, strict=True)):
        if len(t) != len(p):
            raise DataError(f"Sentence {i} has {len(t)} true tags and {len(p)} predicted ones.")
