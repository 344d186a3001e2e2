"""Threshold rules against brute force over the grid."""

import numpy as np
import pytest
from scipy import sparse

from enstruct.decisions import thresholds
from enstruct.decisions.thresholds import (
    EXPONENTS,
    GRID,
    FixedThreshold,
    GlobalThreshold,
    PerLabelThresholds,
    ScaledThreshold,
    TopK,
    at_threshold,
    example_f1_by_threshold,
    fitting_rows,
    scores_by_threshold,
    sets_of_size,
)
from enstruct.metrics import METRICS, example_f1


@pytest.fixture(params=[thresholds.CELLS, 50], ids=["at once", "51 rows at a time"])
def marginals(request, monkeypatch):
    monkeypatch.setattr(thresholds, "CELLS", request.param)
    rng = np.random.default_rng(0)
    p = rng.random((60, 7)) ** 2
    return p, (rng.random((60, 7)) < p).astype(int)


def test_example_f1_by_threshold_equals_one_at_a_time(marginals):
    p, y = marginals
    weight = np.random.default_rng(1).random(60)
    expected = [example_f1(y, p >= t, weight) for t in GRID]
    np.testing.assert_allclose(example_f1_by_threshold(p, sparse.csr_matrix(y), weight), expected)


@pytest.mark.parametrize("metric", METRICS)
def test_global_threshold_is_the_best_of_the_grid(marginals, metric):
    p, y = marginals
    rule = GlobalThreshold().fit(p, y, metric)
    best = max(METRICS[metric](y, p >= t) for t in GRID)
    assert METRICS[metric](y, rule.predict(p)) == pytest.approx(best)


def test_single_precision_on_the_grid_is_cut_as_it_was_fitted():
    """0.01 in single precision lies below 0.01: fitted in double precision, it is to be cut in double precision."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        p = (rng.integers(0, 20, (12, 4)) / 20).astype(np.float32)
        y = (rng.random((12, 4)) < 0.3).astype(int)
        rule = GlobalThreshold().fit(p, y)
        best = max(example_f1(y, p.astype(np.float64) >= t) for t in GRID)
        assert example_f1(y, rule.predict(p)) == pytest.approx(best)


def test_per_label_thresholds_maximise_each_labels_f1(marginals):
    p, y = marginals
    rule = PerLabelThresholds(min_positives=1).fit(p, y)
    for label in range(7):
        column = y[:, [label]]
        f1 = [2 * ((p[:, [label]] >= t) & (column == 1)).sum() / ((p[:, label] >= t).sum() + column.sum()) for t in GRID]
        assert f1[int(np.flatnonzero(rule.thresholds[label] == GRID)[0])] == pytest.approx(max(f1))


@pytest.mark.parametrize("metric", ["example-f1", "micro-f1", "macro-f1", "subset-accuracy"])
def test_scaled_thresholds_are_the_best_of_all_pairs(marginals, metric):
    p, y = marginals
    p = p * np.array([1.0, 0.5, 0.2, 0.9, 0.1, 0.7, 0.3])
    rule = ScaledThreshold().fit(p, y, metric)
    scale = p.mean(0) / p.mean(0).max()
    best = max(METRICS[metric](y, p / scale**a >= t) for a in EXPONENTS for t in GRID)
    assert METRICS[metric](y, rule.predict(p)) == pytest.approx(best)
    t = rule.thresholds / scale**rule.exponent
    np.testing.assert_allclose(t, t[0])
    assert np.isclose(GRID, t[0]).any()


def test_of_rare_labels_the_scaled_threshold_finds_more():
    """A rare label whose marginals are right and low: one threshold for both never answers it."""
    rng = np.random.default_rng(0)
    p = np.column_stack([rng.choice([0.2, 0.8], 4000), rng.choice([0.001, 0.1], 4000, p=[0.9, 0.1])])
    y = (rng.random(p.shape) < p).astype(int)
    scaled, shared = ScaledThreshold().fit(p, y, "macro-f1"), GlobalThreshold().fit(p, y, "macro-f1")
    assert scaled.exponent > 0
    assert METRICS["macro-f1"](y, scaled.predict(p)) > METRICS["macro-f1"](y, shared.predict(p)) + 0.02


def test_scaled_thresholds_of_weighted_rows_are_those_of_copies(marginals):
    p, y = marginals
    counts = np.arange(len(p)) % 3 + 1
    weighted = ScaledThreshold().fit(p, y, "macro-f1", counts.astype(float))
    copied = ScaledThreshold().fit(np.repeat(p, counts, axis=0), np.repeat(y, counts, axis=0), "macro-f1")
    np.testing.assert_allclose(weighted.thresholds, copied.thresholds)


@pytest.mark.parametrize("metric", ["micro-f1", "macro-f1"])
def test_scores_by_threshold_are_the_metrics(marginals, metric):
    p, y = marginals
    y = y.copy()
    y[:, 2] = 0
    weight = np.linspace(0.5, 2, len(p))
    for given in (None, weight):
        expected = [METRICS[metric](y, p >= t, given) for t in GRID]
        np.testing.assert_allclose(scores_by_threshold(p, y, metric, given), expected)


def test_rare_labels_keep_the_global_threshold(marginals):
    p, y = marginals
    y = y.copy()
    y[:, 3] = 0
    y[0, 3] = 1
    rule = PerLabelThresholds().fit(p, y)
    assert rule.thresholds[3] == GlobalThreshold().fit(p, y).threshold


def test_top_k(marginals):
    p, y = marginals
    chosen = sets_of_size(p, 3).toarray()
    assert (chosen.sum(1) == 3).all()
    for row in range(60):
        assert set(np.flatnonzero(chosen[row])) == set(np.argsort(-p[row])[:3])
    assert sets_of_size(p, 99).toarray().all()
    rule = TopK().fit(p, y)
    assert example_f1(y, rule.predict(p)) == max(example_f1(y, sets_of_size(p, k)) for k in range(1, 8))


def test_fixed_threshold_includes_one_half():
    assert FixedThreshold().predict(np.array([[0.5, 0.49]])).toarray().tolist() == [[1, 0]]
    assert at_threshold(np.array([[0.5, 0.49]]), np.array([0.6, 0.4])).toarray().tolist() == [[0, 1]]


@pytest.mark.parametrize(("n", "n_labels", "expected"), [(50, 10, 50), (5000, 10, 1000), (5000, 4096, 256), (5000, 10**6, 100)])
def test_rules_are_fitted_to_fewer_rows_where_labels_are_many(n, n_labels, expected):
    rows = fitting_rows(n, n_labels)
    assert len(np.unique(rows)) == expected
    assert rows[0] == 0
    assert rows[-1] == n - 1
