"""Comparing taggers: scores, the shared start, the citation protocol's draws."""

import numpy as np
import pytest

from enstruct.data.tagged import Tagged
from enstruct.errors import DataError
from enstruct.metrics.base import ratio
from enstruct.metrics.tags import accuracy_counts, span_counts, span_f1, token_accuracy
from enstruct_bench.comparison.light import MOST_UNLABELLED, TEST, draw_references, needs_baseline
from enstruct_bench.comparison.tag_comparison import TAG_COMPARISON


def test_span_f1_is_seqevals():
    from seqeval.metrics import f1_score

    rng = np.random.default_rng(0)
    names = np.array(["O", "B-A", "I-A", "B-B", "I-B"])
    truth, predicted = ([names[rng.integers(5, size=n)].tolist() for n in rng.integers(1, 9, 60)] for _ in range(2))
    predicted = [names[rng.integers(5, size=len(row))].tolist() for row in truth]
    assert span_f1(truth, predicted) == pytest.approx(f1_score(truth, predicted))
    assert ratio(span_counts(truth, truth)) == 1.0
    flat = [(a, b) for t, p in zip(truth, predicted, strict=True) for a, b in zip(t, p, strict=True)]
    assert token_accuracy(truth, predicted) == pytest.approx(np.mean([a == b for a, b in flat]))
    assert ratio(accuracy_counts([], [])) == 0.0
    with pytest.raises(DataError, match="Sentence 0 has 1 true tags and 2"):
        token_accuracy([["O"]], [["O", "O"]])
    with pytest.raises(DataError, match="1 true sentences and 0"):
        token_accuracy([["O"]], [])


def test_who_starts_from_the_baseline():
    assert [TAG_COMPARISON.goes_on(m) for m in ("cross-entropy", "crf", "seal-nce", "spen", "dvn")] == [
        False,
        False,
        True,
        True,
        True,
    ]
    assert [needs_baseline(m) for m in ("rules", "cross-entropy", "ge", "sg-spen")] == [False, False, True, True]


def test_draws_of_references():
    data = Tagged([[f"w{i}"] for i in range(500)], [["a"] if i % 2 else ["b"] for i in range(500)])
    others = [[f"o{i}"] for i in range(900)]
    five, ten, again = (draw_references(data, others, n, d) for n, d in ((5, 0), (10, 0), (5, 1)))
    assert five.test.sentences == again.test.sentences == ten.test.sentences
    assert len(five.test) == TEST
    assert ten.labelled.sentences[:5] == five.labelled.sentences != again.labelled.sentences
    assert len(five.unlabelled) == MOST_UNLABELLED
    seen = {s[0] for s in five.test.sentences}
    assert not seen & {s[0] for s in [*five.labelled.sentences, *five.unlabelled]}
    assert len({s[0] for s in five.unlabelled}) == MOST_UNLABELLED
    assert five.tags == ["a", "b"]
