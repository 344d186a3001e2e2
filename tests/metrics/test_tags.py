"""Metrics of tagged sentences against seqeval, and where there is nothing to count."""

import numpy as np
import pytest

from enstruct.data.tag_schemes import find_spans
from enstruct.errors import ConfigError, DataError
from enstruct.metrics.tags import (
    TAG_METRICS,
    accuracy_counts,
    asked_spans,
    get_tag_metric,
    span_counts,
    span_f1,
    token_accuracy,
)


def test_span_f1_is_seqevals():
    from seqeval.metrics import f1_score

    rng = np.random.default_rng(0)
    names = np.array(["O", "B-A", "I-A", "B-B", "I-B"])
    truth = [names[rng.integers(5, size=n)].tolist() for n in rng.integers(1, 9, 60)]
    predicted = [names[rng.integers(5, size=len(row))].tolist() for row in truth]
    assert span_f1(truth, predicted) == pytest.approx(f1_score(truth, predicted))
    assert span_f1(truth, truth) == 1.0
    flat = [(a, b) for t, p in zip(truth, predicted, strict=True) for a, b in zip(t, p, strict=True)]
    assert token_accuracy(truth, predicted) == pytest.approx(np.mean([a == b for a, b in flat]))


def test_weights_are_as_many_copies():
    truth, predicted = [["B-A", "O"], ["B-B"], ["O"]], [["B-A", "B-A"], ["B-A"], ["O"]]
    copies = [0, 1, 1, 1, 2]
    for metric in TAG_METRICS.values():
        repeated = metric([truth[i] for i in copies], [predicted[i] for i in copies])
        assert metric(truth, predicted, [1, 3, 1]) == pytest.approx(repeated)


def test_nothing_to_count_and_bad_input():
    assert token_accuracy([], []) == span_f1([["O"]], [["O"]]) == 0.0
    with pytest.raises(DataError, match="Sentence 0 has 1 true tags and 2"):
        token_accuracy([["O"]], [["O", "O"]])
    with pytest.raises(DataError, match="1 true sentences and 0"):
        token_accuracy([["O"]], [])
    with pytest.raises(ConfigError, match="span-f1"):
        get_tag_metric("span-f2")


def test_what_was_told_counts_for_nothing():
    truth, known = ["B-PER", "I-PER", "O", "B-LOC"], ["B-PER", None, "O", "B-LOC"]
    assert asked_spans(truth, known) == {find_spans(truth)[0]}
    answer = ["B-PER", "O", "O", "B-LOC"]
    spans, tokens = span_counts([truth], [answer], [known]), accuracy_counts([truth], [answer], [known])
    assert (spans.above.tolist(), spans.below.tolist()) == ([[0]], [[1]])  # the answer's own span of one token is told
    assert (tokens.above.tolist(), tokens.below.tolist()) == ([[0]], [[1]])
    assert accuracy_counts([truth], [truth], [known]).above.tolist() == [[1]]
