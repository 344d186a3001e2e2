"""The ensembles of LightGBM and CatBoost as tables, against what the packages themselves answer; the rows of their names."""

import subprocess
import sys
from importlib import import_module

import numpy as np
import pytest
import torch
from scipy import sparse

from enstruct import EnergyMultiLabelClassifier
from enstruct.baselines import boosting, fit_catboost, fit_lightgbm
from enstruct.baselines.boosting import OF_CATBOOST, OF_LIGHTGBM, RARE, fit_label, of_catboost, of_lightgbm
from enstruct.data.rows import Rows
from enstruct.encoders.boosted import BoostedTrees, as_tensor
from enstruct.errors import ConfigError, MissingExtraError
from enstruct.estimators.bases import ObservedBase, automatic
from enstruct.estimators.training_table import Table

FIT = {"lightgbm": fit_lightgbm, "catboost": fit_catboost}
BOOSTERS = pytest.mark.parametrize("by", FIT)


def features(kind):
    """(rows, 6): of the normal distribution, or mostly 0, or whole numbers; one never varies."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 6))
    if kind == "sparse":
        X[rng.random(X.shape) < 0.7] = 0
    elif kind == "whole":
        X = rng.integers(-2, 3, X.shape)
    X[:, 4] = 1
    return X.astype(np.float32)


def theirs(by, X, y, weight, seed):
    """The package's own model, and what it says of other rows."""
    if by == "lightgbm":
        import lightgbm

        settings = {**OF_LIGHTGBM, "seed": seed}
        model = lightgbm.train(settings, lightgbm.Dataset(X, y, weight=weight, params=settings))
        return of_lightgbm(model), model.predict
    from catboost import CatBoostClassifier

    model = CatBoostClassifier(**OF_CATBOOST, random_seed=seed).fit(X, y, sample_weight=weight)
    return of_catboost(model), lambda rows: model.predict_proba(rows)[:, 1]


def answers(ensembles, rows):
    return torch.sigmoid(BoostedTrees.of_ensembles(ensembles)(as_tensor(rows)).double()).numpy()


def at_thresholds(X, ensemble):
    """Rows whose features are at every threshold, and the nearest 32-bit numbers on both sides of it."""
    rows = []
    for tree in ensemble.trees:
        for feature, threshold in tree[:2, tree[2] != np.arange(tree.shape[1])].T:
            near = np.float32(threshold)
            for value in (near, np.nextafter(near, np.float32(-np.inf)), np.nextafter(near, np.float32(np.inf))):
                row = X[len(rows) % len(X)].copy()
                row[int(feature)] = value
                rows.append(row)
    rows = np.stack(rows)
    return np.where(rows == -np.float32(1e-35), 0, rows)  # LightGBM's own border of zero, at which it is of two minds


@BOOSTERS
@pytest.mark.parametrize("kind", ["normal", "sparse", "whole"])
@pytest.mark.parametrize("weighted", [False, True])
def test_says_what_the_package_says(by, kind, weighted):
    X = features(kind)
    y = (X[:, 0] * X[:, 1] + X[:, 2] > 0).astype(np.float32)
    weight = np.random.default_rng(1).uniform(0.2, 3, 300) if weighted else None
    ensemble, predict = theirs(by, X, y, weight, 3)
    own = fit_label(X, y, np.ones(300) if weight is None else weight, 3, by=by)
    for rows in (X, at_thresholds(X, ensemble), features("normal"), np.zeros((1, 6), dtype=np.float32)):
        np.testing.assert_allclose(answers([own, ensemble], rows), np.tile(predict(rows), (2, 1)).T, atol=1e-5)


@BOOSTERS
def test_labels_of_their_own_weights_and_seeds(by):
    X = features("normal")
    Y = np.stack([X[:, 0] > 0, X[:, 1] > 1, np.arange(300) < RARE - 1], axis=1).astype(float)
    rows = Rows(X, sparse.csr_matrix(Y))
    factors = (None, None, np.array([1, 9, 1]), np.array([9, 1, 1]))
    first, again, heavy, other = (FIT[by](rows, None, w, 2**32 - 1)(as_tensor(X)).numpy() for w in factors)
    assert np.array_equal(first, again)
    assert np.array_equal(first[:, 0], heavy[:, 0])
    assert heavy[:, 1].mean() > first[:, 1].mean() + 0.1
    assert np.array_equal(first[:, 1], other[:, 1])  # the label before has weights, which are its own
    alone = [fit_label(X, y, np.ones(300), 2**32 - 1, by=by) for y in Y.T]
    np.testing.assert_allclose(torch.sigmoid(torch.as_tensor(first)), answers(alone, X), atol=1e-6)
    assert np.ptp(first[:, 2]) == 0
    assert np.ptp(FIT[by](rows, None, should_stop=lambda: True)(as_tensor(X)).numpy(), axis=0).max() == 0
    thin = FIT[by](Rows(sparse.csr_matrix(X), rows.Y), None, None, 2**32 - 1)(as_tensor(X)).numpy()
    assert np.array_equal(thin, first)


def test_of_features_too_many_for_a_dense_array_lightgbm_takes_the_sparse_ones(monkeypatch):
    X = features("sparse")
    rows = Rows(sparse.csr_matrix(X), sparse.csr_matrix((X[:, :1] > 0).astype(float)))
    before = fit_lightgbm(rows, None)(as_tensor(X)).numpy()
    monkeypatch.setattr(boosting, "fits_densely", lambda X: False)
    monkeypatch.setattr(sparse.csr_matrix, "toarray", None)
    assert np.array_equal(fit_lightgbm(rows, None)(as_tensor(X)).numpy(), before)
    with pytest.raises(ConfigError, match="take 'lightgbm'"):
        fit_catboost(rows, None)


@BOOSTERS
@pytest.mark.parametrize("n_same", [300, 299, 6])
def test_features_that_say_nothing_or_next_to_nothing(by, n_same):
    X = np.ones((300, 2), dtype=np.float32)
    X[n_same:, 1] = 2
    y = (np.arange(300) % 3 == 0).astype(float)
    assert abs(answers([fit_label(X, y, np.ones(300), 0, by=by)], X).mean() - y.mean()) < 0.02


@BOOSTERS
@pytest.mark.usefixtures("quick_bases")
def test_a_saved_model_needs_no_package(by, blocks, tmp_path):
    X, Y = blocks.X[:200], blocks.Y[:200]
    model = EnergyMultiLabelClassifier(by, random_state=0).fit(X, Y)
    assert model.score(blocks.X[200:], blocks.Y[200:]) > 0.35  # 0.25 by chance
    model.save(tmp_path / "model")
    np.save(tmp_path / "X.npy", X)
    code = (
        "import sys; sys.modules.update(lightgbm=None, catboost=None)\n"  # whoever imports them fails
        "import numpy as np; from enstruct import EnergyMultiLabelClassifier as E\n"
        "np.save('p.npy', E.load('model').predict_proba(np.load('X.npy')))"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path)
    assert np.array_equal(np.load(tmp_path / "p.npy"), model.predict_proba(X))


@BOOSTERS
def test_holes_in_the_labels(by):
    X = features("normal")
    Y = np.stack([X[:, 0] > 0, X[:, 1] > 0], axis=1).astype(np.float32)
    Y[::3, 1] = np.nan
    base = ObservedBase(by)
    seen = np.flatnonzero(~np.isnan(Y[:, 1]))
    p = base.marginals(base.fit(Table(X, Y), None, 0, np.inf), X)
    np.testing.assert_allclose(p[:, 1], answers([fit_label(X[seen], Y[seen, 1], np.ones(len(seen)), 0, by=by)], X)[:, 0])


@pytest.mark.parametrize("error", [ImportError, OSError])
@BOOSTERS
def test_without_the_package_or_its_library(by, error, blocks, monkeypatch):
    def without(name):
        if name == by:
            raise error
        return import_module(name)

    X, Y = blocks.X[:60], blocks.Y[:60]
    whole = np.asarray(Y.toarray() if sparse.issparse(Y) else Y, dtype=np.float32)
    tables = [Table(X, whole), Table(X, np.where(np.eye(*whole.shape, dtype=bool), np.nan, whole))]
    assert {by} <= {base.name for table in tables for base in automatic(table, "example-f1")}
    monkeypatch.setattr(boosting, "import_module", without)
    with pytest.raises(MissingExtraError, match=r"pip install 'enstruct\[boosting\]'"):
        EnergyMultiLabelClassifier(by).fit(X, Y)
    for table in tables:
        assert by not in {base.name for base in automatic(table, "example-f1")}


def test_enstruct_imports_neither():
    code = "import sys, enstruct; assert not {'lightgbm', 'catboost'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_trees_of_catboost_without_a_split():
    """Of a feature whose border separates nothing, as between two numbers that are one in single precision."""
    pytest.importorskip("catboost")
    near = np.where(np.arange(40) < 20, np.float32(1), np.float32(1) - np.float32(6e-8)).astype(np.float32)[:, None]
    y = np.r_[np.zeros(18), np.ones(22)][:, None].astype(np.uint8)
    model = fit_catboost(Rows(near, sparse.csr_matrix(y)), None)
    assert torch.isfinite(model(torch.tensor(near.tolist()))).all()
