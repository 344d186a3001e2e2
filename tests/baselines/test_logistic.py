"""Newton's method for many labels at once against scikit-learn's solvers, label by label."""

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression

from enstruct.baselines import logistic
from enstruct.baselines.logistic import SCALING, fit_logistic


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 7)) @ rng.standard_normal((7, 7)) * np.geomspace(0.1, 3, 7)
    Y = (X @ rng.standard_normal((7, 5)) + rng.logistic(size=(120, 5)) > np.array([0, 0, 1, -2, 5])).astype(float)
    assert (Y.min(0) < Y.max(0)).all()
    return X, Y, rng.uniform(0, 2, Y.shape)


def theirs(X, y, s, C):
    """The same objective, the intercept a feature like the others."""
    wide = np.column_stack([X, np.full(len(X), SCALING)])
    model = LogisticRegression(C=C, fit_intercept=False, solver="newton-cholesky", tol=1e-12, max_iter=1000).fit(wide, y, s)
    return model.coef_[0, :-1], SCALING * model.coef_[0, -1]


@pytest.mark.parametrize("C", [0.01, 1.0, 300.0])
def test_the_minimum_is_newton_choleskys(problem, C):
    X, Y, S = problem
    weights, biases = fit_logistic(X, Y, S, C)
    for label in range(Y.shape[1]):
        w, b = theirs(X, Y[:, label], S[:, label], C)
        np.testing.assert_allclose(weights[label], w, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(biases[label], b, rtol=1e-4, atol=1e-5)


def test_begun_elsewhere_and_label_by_label_it_is_the_same(problem):
    X, Y, S = problem
    cold = fit_logistic(X, Y, S, 3.0)
    warm = fit_logistic(X, Y, S, 3.0, fit_logistic(X, Y, S, 100.0))
    alone = [fit_logistic(X, Y[:, [label]], S[:, [label]], 3.0) for label in range(Y.shape[1])]
    for part in (0, 1):
        np.testing.assert_allclose(cold[part], warm[part], atol=1e-4)
        np.testing.assert_allclose(cold[part], np.concatenate([one[part] for one in alone]), atol=1e-4)


def test_labels_that_rows_tell_apart_and_blocks_of_rows(monkeypatch):
    """Only shrinkage bounds their weights. In blocks of a few rows squares add up to the same."""
    X = np.linspace(-2, 2, 40)[:, None] + np.array([0.0, 0.1])
    Y = np.column_stack([X[:, 0] > 0, X[:, 0] > 1]).astype(float)
    weights, biases = fit_logistic(X, Y, np.ones(Y.shape), 1e4)
    for label in (0, 1):
        w, b = theirs(X, Y[:, label], np.ones(40), 1e4)
        np.testing.assert_allclose(X @ weights[label] + biases[label], X @ w + b, rtol=1e-3, atol=1e-2)
    monkeypatch.setattr(logistic, "BLOCK", 14)
    D = torch.rand(40, 2, dtype=torch.float64)
    x = torch.as_tensor(X)
    torch.testing.assert_close(logistic._squares(x, D), x.square().T @ D)


def test_single_precision_comes_close(problem, monkeypatch):
    X, Y, S = problem
    exact = fit_logistic(X, Y, S, 1.0)
    monkeypatch.setattr(logistic, "DOUBLE_CELLS", 0)
    np.testing.assert_allclose(fit_logistic(X, Y, S, 1.0)[0], exact[0], atol=2e-3)
