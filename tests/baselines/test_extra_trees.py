"""Extremely randomised trees against scikit-learn's own, and on many labels."""

import numpy as np
import pytest
import torch
from scipy import sparse
from sklearn.ensemble import ExtraTreesRegressor

from enstruct.baselines import binary_relevance, extra_trees
from enstruct.baselines.extra_trees import (
    LEAVES,
    TREES_TO_CHOOSE,
    _growable,
    _Growth,
    _marginals,
    fit_extra_trees,
    fits_densely,
    projected,
)
from enstruct.data.load import load_splits
from enstruct.data.rows import Rows
from enstruct.data.splits import imputed
from enstruct.decisions.thresholds import best_threshold_score
from enstruct.encoders.forest import CERTAIN
from enstruct.errors import ConfigError
from enstruct.estimators import EnergyMultiLabelClassifier


def never():
    return False


@pytest.mark.parametrize(("weighted", "most"), [(False, 100), (True, 4)])
def test_equals_scikit_learns_trees(blocks, monkeypatch, weighted, most):
    monkeypatch.setattr(extra_trees, "TREES_A_PROJECTION", 20)
    monkeypatch.setattr(extra_trees, "MOST_A_SPLIT", most)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(blocks.X)) if weighted else None
    train = Rows(blocks.X, blocks.Y, weight)
    ours = _marginals(_Growth(blocks.X.astype(np.float32), train, 3, 7).until(20, never).forest(None), blocks.X)
    seed = int(np.random.default_rng(7).integers(2**31))
    features = 4 if most == 4 else 1.0
    theirs = ExtraTreesRegressor(20, min_samples_leaf=3, max_features=features, random_state=seed)
    theirs.fit(blocks.X.astype(np.float32), blocks.Y.toarray(), sample_weight=weight)
    np.testing.assert_allclose(ours, theirs.predict(blocks.X.astype(np.float32)), atol=2 * CERTAIN)


def test_projections_keep_distances_between_label_sets():
    rng = np.random.default_rng(0)
    Y = sparse.csr_matrix((rng.random((40, 500)) < 0.05).astype(np.uint8))
    low = projected(Y, rng)
    assert low.shape == (40, extra_trees.DIMENSIONS)
    exact = ((Y.toarray()[:, None].astype(float) - Y.toarray()[None]) ** 2).sum(-1)
    distances = ((low[:, None] - low[None]) ** 2).sum(-1)
    off = ~np.eye(40, dtype=bool)
    assert 0.9 < (distances[off] / exact[off]).mean() < 1.1
    assert np.corrcoef(distances[off], exact[off])[0, 1] > 0.6
    few = sparse.csr_matrix(np.eye(3, dtype=np.uint8))
    assert np.array_equal(projected(few, rng), np.eye(3))
    assert projected(few[:, :1], rng).shape == (3,)  # scikit-learn warns of a column


def test_leaves_are_those_that_score_best(blocks):
    train, validation = Rows(blocks.X[:200], blocks.Y[:200]), Rows(blocks.X[200:], blocks.Y[200:])
    X, scores = train.X.astype(np.float32), {}
    for leaf in LEAVES:
        p = _marginals(_Growth(X, train, leaf, 0).until(TREES_TO_CHOOSE, never).forest(None), validation.X)
        scores[leaf] = best_threshold_score(p, validation.Y)
    expected = _Growth(X, train, max(LEAVES, key=scores.__getitem__), 0).until(extra_trees.TREES, never).forest(None)
    forest = fit_extra_trees(train, validation)
    assert all(torch.equal(a, b) for a, b in zip(forest.buffers(), expected.buffers(), strict=True))
    assert forest.chosen == {"leaf": max(LEAVES, key=scores.__getitem__)}
    other = fit_extra_trees(train, validation, leaf=5)
    assert other.chosen == {"leaf": 5}
    given = _Growth(X, train, 5, 0).until(extra_trees.TREES, never).forest(None)
    assert all(torch.equal(a, b) for a, b in zip(other.buffers(), given.buffers(), strict=True))


def test_growing_ends_with_the_time(blocks):
    train = Rows(blocks.X, blocks.Y)
    assert len(fit_extra_trees(train, None, should_stop=lambda: True).roots) == extra_trees.TREES_A_PROJECTION
    assert len(fit_extra_trees(train, train, should_stop=lambda: True).roots) == extra_trees.TREES_A_PROJECTION
    assert len(fit_extra_trees(train, None).roots) == extra_trees.TREES


def test_sparse_features_too_many_for_a_dense_array(blocks, monkeypatch):
    X = sparse.csr_matrix(np.where(blocks.X > 0, blocks.X, 0))
    dense = _marginals(fit_extra_trees(Rows(X, blocks.Y), None), X)
    assert fits_densely(X)
    monkeypatch.setattr(extra_trees, "MOST_DENSE", 10)
    assert not fits_densely(X)
    assert fits_densely(X.toarray())
    p = _marginals(fit_extra_trees(Rows(X, blocks.Y), None), X)
    assert np.abs(p - dense).mean() < 0.1  # other random numbers, the same trees
    monkeypatch.setattr(extra_trees, "TREES_A_PROJECTION", 20)
    columns = _growable(X)
    assert columns.format == "csc"
    ours = _marginals(_Growth(columns, Rows(X, blocks.Y), 3, 7).until(20, never).forest(None), X)
    seed = int(np.random.default_rng(7).integers(2**31))
    theirs = ExtraTreesRegressor(20, min_samples_leaf=3, max_features=1.0, random_state=seed)
    theirs.fit(columns, blocks.Y.toarray())
    np.testing.assert_allclose(ours, theirs.predict(X.astype(np.float32)), atol=2 * CERTAIN)


def test_as_an_estimator(blocks, tmp_path):
    model = EnergyMultiLabelClassifier("extra-trees", random_state=0).fit(blocks.X[:200], blocks.Y[:200])
    p = model.predict_proba(blocks.X[200:])
    assert model.score(blocks.X[200:], blocks.Y[200:]) > 0.4  # 0.25 by chance
    model.save(tmp_path / "model")
    again = EnergyMultiLabelClassifier.load(tmp_path / "model")
    assert np.array_equal(again.predict_proba(blocks.X[200:]), p)
    heavier = EnergyMultiLabelClassifier("extra-trees", random_state=0, class_weight="balanced")
    assert heavier.fit(blocks.X[:200], blocks.Y[:200]).predict_proba(blocks.X[200:]).mean() > p.mean()


def test_no_network_is_made_of_trees(blocks):
    model = EnergyMultiLabelClassifier("extra-trees", random_state=0, warm_start=True).fit(blocks.X, blocks.Y)
    with pytest.raises(ConfigError, match="fit anew"):
        model.set_params(method="cross-entropy").fit(blocks.X, blocks.Y)


def test_callbacks_of_ones_own_need_not_know_of_budgets(blocks):
    class Own:
        def on_epoch_end(self, loop, record): ...

    model = EnergyMultiLabelClassifier("extra-trees", random_state=0, callbacks=[Own()]).fit(blocks.X, blocks.Y)
    assert len(model.predictor_.roots) == extra_trees.TREES


@pytest.mark.parametrize("weight", [0.0, 2.0])
def test_weights_of_labels_multiply_their_odds(blocks, weight):
    train = Rows(blocks.X, blocks.Y)
    weights = np.ones(blocks.Y.shape[1])
    weights[3] = weight
    plain, heavy = (_marginals(fit_extra_trees(train, None, w), blocks.X[:20]) for w in (None, weights))
    np.testing.assert_allclose(heavy[:, [0, 5]], plain[:, [0, 5]], rtol=1e-5)
    if weight:
        np.testing.assert_allclose(heavy[:, 3] / (1 - heavy[:, 3]), 2 * plain[:, 3] / (1 - plain[:, 3]), rtol=1e-3)
    else:
        assert heavy[:, 3].max() < 1e-3


@pytest.mark.real
def test_ahead_of_one_vs_rest_on_genes(real_data, monkeypatch):
    """Dense features and five hundred labels: what it is for. By the rule that both would choose, and with the best C of all."""
    monkeypatch.setattr(binary_relevance, "C_GRID", (0.1, 0.3, 1.0))
    splits = imputed(load_splits("spo_FUN"))
    scores = {}
    for method in ("extra-trees", "binary-relevance"):
        model = EnergyMultiLabelClassifier(method, decision="expected-f1", random_state=0)
        with pytest.warns(UserWarning, match="never vary"):
            model.fit(splits.train.X, splits.train.Y, X_val=splits.validation.X, y_val=splits.validation.Y)
        scores[method] = model.score(splits.test.X, splits.test.Y)
    assert scores["extra-trees"] > scores["binary-relevance"] + 0.01
