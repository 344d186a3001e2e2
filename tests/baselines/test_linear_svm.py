"""One-vs-rest support vector machines against scikit-learn's, and what makes log-odds of margins."""

import numpy as np
import pytest
import torch
from scipy import sparse
from sklearn.svm import LinearSVC

from enstruct.baselines import fit_linear_svm
from enstruct.baselines.linear_svm import C_GRID, _fit, odds_of
from enstruct.data.rows import Rows
from enstruct.metrics import log_loss


@pytest.fixture
def parts(blocks):
    X = sparse.csr_matrix(np.where(abs(blocks.X) > 0.5, blocks.X, 0))
    return Rows(X[:200], blocks.Y[:200]), Rows(X[200:], blocks.Y[200:])


def margins(predictor, X):
    with torch.no_grad():
        return predictor(torch.from_numpy(X.toarray()).float()).numpy()


def test_margins_are_scikit_learns(parts):
    train, validation = parts
    predictor = fit_linear_svm(train, None, C=3.0, scale=2.0, shift=-0.5)
    y = train.Y[:, [3]].toarray().ravel()
    theirs = LinearSVC(C=3.0, random_state=0, tol=1e-6, max_iter=100_000).fit(train.X, y).decision_function(validation.X)
    np.testing.assert_allclose(margins(predictor, validation.X)[:, 3], 2 * theirs - 0.5, atol=0.05)


def test_scale_and_shift_have_the_least_log_loss(parts):
    train, validation = parts
    fitted = fit_linear_svm(train, validation)
    assert fitted.chosen["C"] in C_GRID
    z, truth = margins(fitted, validation.X), validation.Y.toarray()

    def loss(scale, shift):
        return log_loss(truth, 1 / (1 + np.exp(-(scale * z + shift))))

    assert all(loss(1, 0) <= loss(*other) + 1e-6 for other in ((1.05, 0), (0.95, 0), (1, 0.05), (1, -0.05)))
    again = fit_linear_svm(train, None, **fitted.chosen)
    np.testing.assert_array_equal(margins(again, validation.X), z)


def test_labels_that_never_vary_and_weights(parts):
    train, validation = parts
    Y = train.Y.toarray()
    Y[:, 0], Y[:, 1] = 0, 1
    z = margins(fit_linear_svm(Rows(train.X, sparse.csr_matrix(Y)), validation), validation.X)
    assert (z[:, 0] == -20).all()
    assert (z[:, 1] == 20).all()
    twice = Rows(sparse.vstack([train.X, train.X]).tocsr(), sparse.vstack([train.Y, train.Y]).tocsr())
    heavy = Rows(train.X, train.Y, np.full(200, 2.0))
    own = {"C": 1.0, "scale": 1.0, "shift": 0.0}
    np.testing.assert_allclose(
        margins(fit_linear_svm(twice, None, **own), validation.X),
        margins(fit_linear_svm(heavy, None, **own), validation.X),
        atol=0.02,
    )
    more = fit_linear_svm(train, None, positive_weight=np.full(16, 5.0), **own)
    assert (margins(more, validation.X) > 0).sum() > (margins(fit_linear_svm(train, None, **own), validation.X) > 0).sum()


def test_shares_are_of_cells_that_count():
    margins, truth = np.array([2.0, -1.0, -1.5]), np.array([0.0, 1, 0])
    assert odds_of(margins, truth, np.array([1.0, 0, 1])) == (1.0, 0.0)
    assert np.isfinite(odds_of(margins, truth, np.array([1.0, 0.5, 1]))).all()


def test_weights_do_not_depend_on_threads():
    """Of the dual, whose random numbers are the process's."""
    rng = np.random.default_rng(0)
    rows = Rows(sparse.random(120, 400, 0.05, "csr", rng=rng), sparse.csr_matrix((rng.random((120, 8)) < 0.3).astype(np.uint8)))
    threads = torch.get_num_threads()
    try:
        found = []
        for n in (1, 2, 2):
            torch.set_num_threads(n)
            found.append(_fit(rows, 30.0, None, 0))
    finally:
        torch.set_num_threads(threads)
    for other in found[1:]:
        np.testing.assert_array_equal(other[0], found[0][0])
