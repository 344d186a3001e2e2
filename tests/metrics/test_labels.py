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


def test_calibration_error_has_bins_of_equal_width():
    rng = np.random.default_rng(0)
    p = rng.random((300, 4))
    truth = (rng.random(p.shape) < p**2).astype(int)
    which = np.digitize(p, np.linspace(0, 1, 16)[1:-1])
    gaps = [abs((p - truth)[which == b].sum()) for b in range(15)]
    assert metrics.calibration_error(truth, p) == pytest.approx(sum(gaps) / p.size)


def test_shapes_and_names_are_checked(pair):
    with pytest.raises(DataError, match="shape"):
        metrics.example_f1(pair[0], pair[1][:, :3])
    with pytest.raises(ConfigError, match="Did you mean 'micro-f1'"):
        metrics.get_metric("mirco-f1")


@pytest.fixture
def holed(pair):
    """A truth with holes, a row and a label of nothing else among them."""
    truth = pair[0].astype(float)
    truth[np.random.default_rng(3).random(truth.shape) < 0.4] = np.nan
    truth[7], truth[:, 2] = np.nan, np.nan
    return truth


def _by_cells(truth, predicted, score):
    """Mean of the scores of rows, each on its observed cells alone."""
    rows = [(t[~np.isnan(t)], y[~np.isnan(t)]) for t, y in zip(truth, predicted, strict=True) if not np.isnan(t).all()]
    return np.mean([score(t, y) for t, y in rows])


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_holes_in_the_truth_count_for_nothing(pair, holed, form):
    predicted, truth = pair[1], form(holed)
    seen = ~np.isnan(holed)
    f1 = lambda t, y: sk.f1_score(t, y, zero_division=1.0)  # noqa: E731
    assert metrics.example_f1(truth, predicted) == pytest.approx(_by_cells(holed, predicted, f1))
    assert metrics.hamming_loss(truth, predicted) == pytest.approx(_by_cells(holed, predicted, lambda t, y: (t != y).mean()))
    exact = _by_cells(holed, predicted, lambda t, y: (t == y).all())
    assert metrics.subset_accuracy(truth, predicted) == pytest.approx(exact)
    assert metrics.micro_f1(truth, predicted) == pytest.approx(f1(holed[seen], predicted[seen]))
    labels = [k for k in range(6) if seen[:, k].any()]
    assert len(labels) == 5
    by_label = [f1(holed[seen[:, k], k], predicted[seen[:, k], k]) for k in labels]
    assert metrics.macro_f1(truth, predicted) == pytest.approx(np.mean(by_label))
    assert 7 in np.flatnonzero(~seen.any(1))
    np.testing.assert_array_equal(np.isnan(metrics.rowwise_f1(truth, predicted)), ~seen.any(1))
    for name, metric in metrics.METRICS.items():  # what is answered in the holes does not matter
        assert metric(truth, np.where(seen, predicted, 1 - predicted)) == metric(truth, predicted), name


def test_counts_of_a_truth_with_holes_are_by_row(pair, holed):
    """The score of some rows is made of their counts, as without holes."""
    some = np.arange(5, 20)
    for name, metric in metrics.METRICS.items():
        counts = metric.counts(holed, pair[1])
        if name != "macro-f1":  # whose parts are the labels that these rows observe
            assert metrics.ratio(counts.take(some), empty=metric.empty) == pytest.approx(metric(holed[some], pair[1][some])), name
        weight = np.zeros(50)
        weight[some] = 1.0
        assert metrics.ratio(counts, weight, metric.empty) == pytest.approx(metrics.ratio(counts.take(some), empty=metric.empty))


def test_probabilities_beside_holes(holed, monkeypatch):
    p, seen = np.random.default_rng(2).random(holed.shape), ~np.isnan(holed)
    areas = [sk.average_precision_score(holed[seen[:, k], k], p[seen[:, k], k]) for k in range(6) if np.nansum(holed[:, k])]
    assert metrics.average_precision(holed, p) == pytest.approx(np.mean(areas))
    nats = metrics.log_loss(holed, p)
    assert nats == pytest.approx(sk.log_loss(holed[seen], p[seen]))
    error = metrics.calibration_error(holed, p)
    assert error == pytest.approx(metrics.calibration_error(holed[seen][:, None], p[seen][:, None]))
    monkeypatch.setattr(metrics.labels, "BLOCK_ROWS", 7)
    assert metrics.log_loss(holed, p) == pytest.approx(nats)
    assert metrics.calibration_error(holed, p) == pytest.approx(error)


def test_log_loss_of_whole_and_of_sure_answers(pair):
    p = np.random.default_rng(2).random((50, 6))
    for form in (np.asarray, sparse.csr_matrix):
        assert metrics.log_loss(form(pair[0]), p) == pytest.approx(sk.log_loss(pair[0].ravel(), p.ravel()))
    assert metrics.log_loss(np.array([[1]]), np.array([[0.0]])) == pytest.approx(-np.log(1e-6))
    assert np.isnan(metrics.log_loss(np.full((2, 2), np.nan), np.ones((2, 2))))
    with pytest.raises(DataError, match="shape"):
        metrics.log_loss(pair[0], p[:, :4])


def test_log_loss_of_weighted_rows_is_that_of_copies():
    Y, p = np.array([[1, np.nan], [0, 1], [1, 1]]), np.array([[0.9, 0.2], [0.4, 0.6], [0.3, 0.8]])
    copies = np.repeat(np.arange(3), [3, 1, 2])
    assert metrics.log_loss(Y, p, [3, 1, 2]) == pytest.approx(metrics.log_loss(Y[copies], p[copies]))
    whole = np.nan_to_num(Y)
    assert metrics.log_loss(whole, p, [3, 1, 2]) == pytest.approx(metrics.log_loss(whole[copies], p[copies]))
    assert metrics.log_loss(Y, p, [0, 1, 0]) == pytest.approx(-np.log([0.6, 0.6]).mean())
