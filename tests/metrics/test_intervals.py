"""Intervals are those of a bootstrap that looks at the answers anew."""

import numpy as np
import pytest
from scipy import sparse

from enstruct.metrics import METRICS, Counts, average_precision, calibration_error, log_loss
from enstruct.metrics.intervals import Counted, intervals, weights
from enstruct.report.scores import calibration_counts, label_intervals, log_loss_counts, precision_interval


@pytest.fixture(scope="module")
def answers():
    """(truth, truth with holes, probabilities) of 60 rows and 5 labels; one is rare, some probabilities are equal."""
    rng = np.random.default_rng(3)
    p = np.round(rng.random((60, 5)) * [1, 1, 1, 1, 0.1], 1)
    Y = (rng.random((60, 5)) < p).astype(float)
    return Y, np.where(rng.random(Y.shape) < 0.3, np.nan, Y), p


def drawn_rows(n, draws, seed):
    """The rows of each draw, as often as they are drawn."""
    for block in weights(n, draws, seed):
        for weight in block:
            yield np.repeat(np.arange(n), weight.astype(int))


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize("holes", [False, True])
def test_metrics(answers, name, holes):
    whole, with_holes, p = answers
    truth, predicted = with_holes if holes else whole, (p > 0.5).astype(float)
    metric = METRICS[name]
    counted = Counted(metric.counts(truth, predicted), metric.empty)
    found = intervals({name: counted}, seed=1, draws=60)[name]
    brute = [metric(truth[rows], predicted[rows]) for rows in drawn_rows(60, 60, 1)]
    if name == "macro-f1" and holes:  # which leaves out labels of which a draw knows nothing
        assert found.value == metric(truth, predicted)
        return
    assert found == pytest.approx((metric(truth, predicted), *np.quantile(brute, [0.025, 0.975])))


@pytest.mark.parametrize("holes", [False, True])
def test_what_holds_whatever_the_rule(answers, holes):
    whole, with_holes, p = answers
    truth = with_holes if holes else sparse.csr_matrix(whole)
    draws = list(drawn_rows(60, 40, 5))
    counted = {"e": calibration_counts(truth, p), "l": log_loss_counts(truth, p)}
    found = intervals(counted, seed=5, draws=40)
    found["p"] = precision_interval(truth, p, 5, draws=40)
    for key, score in (("e", calibration_error), ("l", log_loss), ("p", average_precision)):
        brute = [score(truth[rows], p[rows]) for rows in draws]
        assert found[key] == pytest.approx((score(truth, p), *np.quantile(brute, [0.025, 0.975]))), key
    assert label_intervals(truth, p, 5) == label_intervals(truth, p, 5)


def test_draws_are_those_of_the_seed_however_they_are_cut(monkeypatch):
    whole = np.concatenate(list(weights(7, 20, 4)))
    monkeypatch.setattr("enstruct.metrics.intervals.BLOCK", 21)
    assert np.array_equal(np.concatenate(list(weights(7, 20, 4))), whole)
    assert (whole.sum(1) == 7).all()


def test_a_single_row_has_no_interval():
    found = intervals({"a": Counted(Counts.of([1.0]))}, 0)["a"]
    assert found.value == 1
    assert np.isnan(found.low)
