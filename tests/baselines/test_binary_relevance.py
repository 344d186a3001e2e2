"""One-vs-rest logistic regression against scikit-learn's own, and its C."""

import numpy as np
import pytest
import torch
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier

from enstruct.baselines import binary_relevance, linear
from enstruct.baselines.binary_relevance import C_GRID, _fit, fit_one_vs_rest
from enstruct.baselines.linear import predict
from enstruct.data.load import load_splits
from enstruct.data.rows import Rows
from enstruct.decisions.expected_f1 import decode
from enstruct.decisions.thresholds import GlobalThreshold, best_threshold_score
from enstruct.estimators import EnergyMultiLabelClassifier
from enstruct.metrics import example_f1


def test_equals_scikit_learns_one_vs_rest(blocks):
    fitted = fit_one_vs_rest(Rows(blocks.X, blocks.Y), None)
    theirs = OneVsRestClassifier(
        LogisticRegression(solver="liblinear", intercept_scaling=10.0, random_state=0, max_iter=200, tol=1e-8)
    )
    theirs.fit(blocks.X, blocks.Y.toarray())
    np.testing.assert_allclose(
        torch.sigmoid(fitted(torch.from_numpy(blocks.X).float())).detach(), theirs.predict_proba(blocks.X), atol=1e-6
    )


def test_several_labels_at_a_time_change_nothing(blocks, monkeypatch):
    train = Rows(sparse.csr_matrix(blocks.X), blocks.Y, np.linspace(0.5, 2.0, len(blocks.X)))
    one = _fit(train, 1.0, None)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 4)
    for alone, together in zip(one, _fit(train, 1.0, None), strict=True):
        assert np.array_equal(alone, together)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_labels_some_at_a_time_change_nothing(blocks, monkeypatch, form):
    Y = blocks.Y.toarray()
    Y[:, 3], Y[:, 4] = 0, 1
    train, weight = Rows(form(blocks.X), sparse.csr_matrix(Y), np.linspace(0.5, 2.0, len(Y))), np.linspace(1, 3, Y.shape[1])
    whole = _fit(train, 1.0, weight)
    monkeypatch.setattr(binary_relevance, "MOST_CELLS", 5 * len(Y))
    parts = _fit(train, 1.0, weight, whole)
    for a, b in zip(_fit(train, 1.0, weight), parts, strict=True):
        np.testing.assert_allclose(a, b, atol=2e-3)
    for a, b in zip(whole, parts, strict=True):
        np.testing.assert_allclose(a, b, atol=2e-3)
    assert whole[1][3:5].tolist() == parts[1][3:5].tolist() == [-20, 20]


def test_c_is_a_peak_of_the_validation_score(blocks):
    train, validation = Rows(blocks.X[:200], blocks.Y[:200]), Rows(blocks.X[200:], blocks.Y[200:])
    place = C_GRID.index(fit_one_vs_rest(train, validation).chosen["C"])
    scores = [best_threshold_score(predict(_fit(train, C, None), validation.X), validation.Y) for C in C_GRID]
    assert scores[place] == max(scores[max(0, place - 1) : place + 2])
    assert scores[place] > min(scores)


@pytest.mark.parametrize(
    ("peak", "tried"),
    [
        (0.1, [1.0, 10.0, 0.1, 0.3]),
        (1.0, [1.0, 10.0, 0.1, 3.0, 0.3]),
        (30.0, [1.0, 10.0, 100.0, 30.0]),
        (300.0, [1.0, 10.0, 100.0, 300.0]),
    ],
)
def test_the_peak_is_found_uphill_from_1(blocks, monkeypatch, peak, tried):
    rows, asked = Rows(blocks.X, blocks.Y), []
    monkeypatch.setattr(binary_relevance, "_fit", lambda train, C, *rest: asked.append(C) or _fit(train, 1.0, None))
    monkeypatch.setattr(linear, "best_threshold_score", lambda *_: -abs(np.log(asked[-1] / peak)))
    assert fit_one_vs_rest(rows, rows).chosen == {"C": peak}
    assert asked == tried


def test_of_csr_rows_it_begins_at_10(blocks, monkeypatch):
    rows, asked = Rows(sparse.csr_matrix(blocks.X), blocks.Y), []
    monkeypatch.setattr(binary_relevance, "_fit", lambda train, C, *rest: asked.append(C) or _fit(train, 1.0, None))
    fit_one_vs_rest(rows, rows, should_stop=lambda: len(asked) > 0)
    assert asked == [10.0]


def test_a_given_c_is_the_only_one(blocks):
    train, validation = Rows(blocks.X[:200], blocks.Y[:200]), Rows(blocks.X[200:], blocks.Y[200:])
    fitted = fit_one_vs_rest(train, validation, C=3.0)
    weights, biases = _fit(train, 3.0, None)
    np.testing.assert_allclose(fitted.linear.weight.detach().numpy(), weights.T, rtol=1e-6)
    np.testing.assert_allclose(fitted.linear.bias.detach().numpy(), biases, rtol=1e-6)
    assert fitted.chosen == {"C": 3.0}


def test_no_further_c_is_tried_when_the_time_is_up(blocks, monkeypatch):
    rows = Rows(blocks.X, blocks.Y)
    tried = []
    monkeypatch.setattr(binary_relevance, "_fit", lambda train, C, *rest: tried.append(C) or _fit(train, C, *rest))
    monkeypatch.setattr(linear, "best_threshold_score", lambda *arguments: len(tried))  # ever higher
    for spent_after, expected in ((0, [1.0]), (1, [1.0]), (2, [1.0, 10.0]), (4, [1.0, 10.0, 100.0, 300.0])):
        fit_one_vs_rest(rows, rows, should_stop=lambda after=spent_after: len(tried) >= after)
        assert tried == expected
        tried.clear()


@pytest.mark.real
def test_bibtex_is_the_bar_it_should_be(real_data, monkeypatch):
    monkeypatch.setattr(binary_relevance, "C_GRID", (0.3, 1.0, 10.0))  # where it begins, the best of all, and one between
    splits = load_splits("bibtex")
    model = EnergyMultiLabelClassifier("binary-relevance", decision="expected-f1")
    model.fit(splits.train.X, splits.train.Y, X_val=splits.validation.X, y_val=splits.validation.Y)
    p = model.predict_proba(splits.test.X)
    threshold = GlobalThreshold(model.rules_["threshold"].threshold)
    assert example_f1(splits.test.Y, threshold.predict(p)) > 0.43
    assert example_f1(splits.test.Y, decode(p, allow_empty=False)) > 0.46


def test_sparse_rows_come_to_the_optimum_of_scikit_learns_newton_method(blocks):
    """Also from the weights of another C: logistic regression has one optimum."""
    rows = Rows(sparse.csr_matrix(np.where(abs(blocks.X) > 1, blocks.X, 0)), blocks.Y, np.linspace(0.5, 2.0, len(blocks.X)))
    cold, warm = _fit(rows, 3.0, None), _fit(rows, 3.0, None, _fit(rows, 0.1, None))
    label = int(np.asarray(blocks.Y.sum(0)).argmax())
    y = blocks.Y[:, [label]].toarray().ravel()
    exact = LogisticRegression(C=3.0, solver="newton-cholesky", tol=1e-10).fit(rows.X, y, sample_weight=rows.weight)
    for weights, biases in (cold, warm):
        np.testing.assert_allclose(weights[label], exact.coef_[0], atol=2e-3)
        np.testing.assert_allclose(biases[label], exact.intercept_[0], atol=2e-3)
