"""What training watches, and the choice among epochs."""

import numpy as np
import pytest
from scipy import sparse

from enstruct.data.rows import Rows
from enstruct.decisions.choose import cross_validate
from enstruct.decisions.expected_f1 import decode
from enstruct.decisions.monitors import LabelSetMonitor
from enstruct.decisions.thresholds import GRID
from enstruct.metrics import example_f1, get_metric


def marginals_and_rows(n: int = 200, labels: int = 6, weight=None):
    rng = np.random.default_rng(0)
    truth = rng.random((n, labels)) < 0.3
    truth[np.arange(n), rng.integers(labels, size=n)] = True
    p = np.clip(0.3 * truth + 0.7 * rng.random((n, labels)), 0.01, 0.99)  # they overlap
    return p, Rows(np.zeros((n, 1)), sparse.csr_matrix(truth.astype(np.uint8)), weight)


def test_scores_are_what_they_say():
    p, rows = marginals_and_rows(weight=np.linspace(0.5, 1.5, 200))
    at = [example_f1(rows.Y, p >= t, rows.weight) for t in GRID]
    scores = LabelSetMonitor().scores(p, rows)
    assert list(scores) == ["f1", "threshold", "decoded"]
    assert scores["threshold"] == pytest.approx(max(at))
    assert scores["f1"] == pytest.approx((example_f1(rows.Y, p >= 0.5, rows.weight) + max(at)) / 2)
    assert scores["decoded"] == pytest.approx(example_f1(rows.Y, decode(p, False), rows.weight))


def test_another_metric_is_watched_itself():
    p, rows = marginals_and_rows()
    scores = LabelSetMonitor("hamming").scores(p, rows)
    assert scores["threshold"] == pytest.approx(max(get_metric("hamming")(rows.Y, p >= t) for t in GRID))
    assert list(scores) == ["f1", "threshold"]


def test_at_one_half_nothing_else_is_watched():
    p, rows = marginals_and_rows(weight=np.linspace(0.5, 1.5, 200))
    for metric in ("example-f1", "micro-f1"):
        scores = LabelSetMonitor(metric, monitor="fixed").scores(p, rows)
        assert scores == {"fixed": pytest.approx(get_metric(metric)(rows.Y, p >= 0.5, rows.weight))}


def test_one_label_a_row_is_scored_by_argmax():
    p, _ = marginals_and_rows()
    rows = Rows(np.zeros((200, 1)), sparse.csr_matrix(np.eye(6, dtype=np.uint8)[p.argmax(1)]))
    judge = LabelSetMonitor(single=True)
    assert judge.scores(p, rows) == {"accuracy": 1.0}
    assert judge.choose([1 - p, p], rows) == 0


def test_the_choice_is_for_the_decision_in_force():
    p, rows = marginals_and_rows()
    pushed = p * 0.45  # the same ranking, but nothing reaches one half
    noisy = np.clip(p + np.random.default_rng(1).normal(0, 0.15, p.shape), 0.01, 0.99)
    candidates = [noisy, pushed]
    assert LabelSetMonitor(decision="fixed").choose(candidates, rows) == 0
    assert LabelSetMonitor(decision="threshold").choose(candidates, rows) == 1
    scores = [max(cross_validate(("threshold", "expected-f1"), q, rows.Y).scores.values()) for q in candidates]
    assert LabelSetMonitor().choose(candidates, rows) == int(np.argmax(scores))
    assert LabelSetMonitor().choose([p, p], rows) == 0
