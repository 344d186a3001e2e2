"""Gradient boosted trees, one ensemble a label, against scikit-learn's own; the row "boosting" saved and loaded."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.ensemble import HistGradientBoostingClassifier

from enstruct.baselines import boosting
from enstruct.baselines.boosting import RARE, SETTINGS, fit_boosting, fit_label
from enstruct.data.rows import Rows
from enstruct.encoders.boosted import as_tensor
from enstruct.errors import ConfigError
from enstruct.estimators import EnergyMultiLabelClassifier


@pytest.fixture
def few(blocks, monkeypatch):
    monkeypatch.setitem(SETTINGS, "max_iter", 5)
    return blocks.X[:120, :8], sparse.csr_matrix(blocks.Y[:120, :4])


@pytest.mark.parametrize("weighted", [False, True])
def test_equals_scikit_learns(few, weighted):
    X, Y = few
    weight = np.random.default_rng(1).uniform(0.5, 2.0, 120) if weighted else None
    logits = fit_boosting(Rows(X, Y, weight), None, seed=3)(as_tensor(X)).numpy()
    for label in range(4):
        y = Y[:, [label]].toarray().ravel() > 0
        theirs = HistGradientBoostingClassifier(**SETTINGS, random_state=3).fit(X, y, sample_weight=weight)
        np.testing.assert_allclose(logits[:, label], theirs.decision_function(X.astype(np.float32)), atol=1e-5)


def test_weights_of_labels_are_those_of_positive_rows(few):
    X, Y = few
    factor = np.array([1.0, 3.0, 1.0, 1.0])
    plain, heavy = (fit_boosting(Rows(X, Y), None, w)(as_tensor(X)).numpy() for w in (None, factor))
    np.testing.assert_array_equal(heavy[:, [0, 2, 3]], plain[:, [0, 2, 3]])
    y = Y[:, [1]].toarray().ravel() > 0
    theirs = HistGradientBoostingClassifier(**SETTINGS, random_state=0).fit(X, y, sample_weight=np.where(y, 3.0, 1.0))
    np.testing.assert_allclose(heavy[:, 1], theirs.decision_function(X.astype(np.float32)), atol=1e-5)


def test_sparse_features_are_the_same_ones(few):
    X, Y = few
    X = np.where(X > 0, X, 0)
    dense, thin = (fit_boosting(Rows(rows, Y), None)(as_tensor(rows)).numpy() for rows in (X, sparse.csr_matrix(X)))
    np.testing.assert_array_equal(dense, thin)


@pytest.mark.parametrize("positives", [0, RARE - 1, 120 - RARE + 1])
def test_of_rare_labels_their_share_is_learnt(few, positives):
    y, weight = (np.arange(120) < positives).astype(float), np.linspace(1, 2, 120)
    share = ((weight * y).sum() + 0.5) / (weight.sum() + 1)
    learnt = fit_label(few[0], y, weight, 0)
    assert learnt.bias == pytest.approx(np.log(share / (1 - share)))
    assert not learnt.trees
    assert fit_label(few[0], (np.arange(120) < RARE).astype(float), weight, 0).trees


def test_no_further_label_is_fitted_when_time_is_over(few):
    X, Y = few
    ends = iter([False, True, True, True])
    logits = fit_boosting(Rows(X, Y), None, should_stop=lambda: next(ends))(as_tensor(X)).numpy()
    assert np.ptp(logits[:, 0]) > 0
    share = (np.asarray(Y.todense())[:, 1:].sum(0) + 0.5) / 121
    np.testing.assert_allclose(logits[:, 1:], np.tile(np.log(share / (1 - share)), (120, 1)), rtol=1e-5)


def test_features_too_many_for_a_dense_array_are_refused(few, monkeypatch):
    monkeypatch.setattr(boosting, "fits_densely", lambda X: False)
    with pytest.raises(ConfigError, match="dense array"):
        fit_boosting(Rows(sparse.csr_matrix(few[0]), few[1]), None)


def test_as_an_estimator_saved_and_loaded(blocks, tmp_path, monkeypatch):
    monkeypatch.setitem(SETTINGS, "max_iter", 20)
    model = EnergyMultiLabelClassifier("boosting", random_state=0).fit(blocks.X[:200], blocks.Y[:200])
    p = model.predict_proba(blocks.X[200:])
    assert model.score(blocks.X[200:], blocks.Y[200:]) > 0.35  # 0.25 by chance
    model.save(tmp_path / "model")
    again = EnergyMultiLabelClassifier.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_proba(blocks.X[200:]), p)
