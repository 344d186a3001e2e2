"""Metrics against scikit-learn, and where both sides are empty."""

import numpy as np
import pytest
from scipy import sparse
from sklearn import metrics as sk

from enstruct import metrics
from enstruct.errors import ConfigError, DataError


@pytest.fixture
def pair():
    rng = np.random.default_rng(0)
    return (rng.random((50, 6)) < 0.3).astype(int), (rng.random((50, 6)) < 0.3).astype(int)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("weighted", [False, True])
def test_agree_with_scikit_learn(pair, form, weighted):
    truth, predicted = pair
    weight = np.random.default_rng(1).random(50) if weighted else None
    keep = {"sample_weight": weight, "zero_division": 1.0}
    a, b = form(truth), form(predicted)
    for mine, average in ((metrics.example_f1, "samples"), (metrics.micro_f1, "micro"), (metrics.macro_f1, "macro")):
        assert mine(a, b, weight) == pytest.approx(sk.f1_score(truth, predicted, average=average, **keep))
    assert metrics.subset_accuracy(a, b, weight) == pytest.approx(sk.accuracy_score(truth, predicted, sample_weight=weight))
    assert metrics.hamming_loss(a, b, weight) == pytest.approx(sk.hamming_loss(truth, predicted, sample_weight=weight))


def test_two_empty_sets_agree():
    nothing = np.zeros((2, 3), int)
    for name, metric in metrics.METRICS.items():
        assert metric(nothing, nothing) == 1.0, name


def test_average_precision_ignores_unused_labels():
    truth, p = np.array([[1, 0], [0, 0]]), np.array([[0.9, 0.3], [0.1, 0.8]])
    assert metrics.average_precision(truth, p) == 1.0
    assert np.isnan(metrics.average_precision(np.zeros((2, 2), int), p))


def test_average_precision_hands_over_rows(monkeypatch):
    """Of columns kept together scikit-learn copies the whole matrix for every label: 100 times the time at 4,000 labels."""
    matrices_seen = []
    scorer = "sklearn.metrics.average_precision_score"
    monkeypatch.setattr(scorer, lambda *matrices, average: matrices_seen.extend(matrices) or np.full(3, 0.5))
    metrics.average_precision(np.eye(4, 3, dtype=int), np.asfortranarray(np.ones((4, 3)) / 2))
    assert [matrix.flags.c_contiguous for matrix in matrices_seen] == [True, True]


def test_probabilities_some_at_a_time(pair, monkeypatch):
    truth, p = pair[0], np.random.default_rng(2).random((50, 6))
    areas = [sk.average_precision_score(truth[:, label], p[:, label]) for label in range(6)]
    whole = metrics.calibration_error(truth, p)
    for labels, rows in ((128, 1024), (4, 7), (1, 1)):
        monkeypatch.setattr(metrics.labels, "BLOCK_LABELS", labels)
        monkeypatch.setattr(metrics.labels, "BLOCK_ROWS", rows)
        assert metrics.average_precision(truth, p) == pytest.approx(np.mean(areas))
        assert metrics.calibration_error(truth, p) == pytest.approx(whole)
    for wrong in (p.T, p[:, :4]):
        for metric in (metrics.average_precision, metrics.calibration_error):
            with pytest.raises(DataError, match="shape"):
                metric(truth, wrong)


def test_calibration_error_by_hand():
    truth, p = np.array([[1, 0], [1, 1]]), np.array([[0.9, 0.1], [0.9, 0.1]])
    assert metrics.calibration_error(truth, p, bins=2) == pytest.approx((abs(1.8 - 2) + abs(0.2 - 1)) / 4)


def test_shapes_and_names_are_checked(pair):
    with pytest.raises(DataError, match="shape"):
        metrics.example_f1(pair[0], pair[1][:, :3])
    with pytest.raises(ConfigError, match="Did you mean 'micro-f1'"):
        metrics.get_metric("mirco-f1")
