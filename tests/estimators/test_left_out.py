"""Which rows bases leave out: each in turn, or a fifth alone, by which everything else is learnt then."""

import copy
import time

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from enstruct import EnergySequenceTagger, JointMultiLabelClassifier, find_label_issues
from enstruct.errors import ConfigError, DataError
from enstruct.estimators import bases, joint
from enstruct.estimators.label_issues import label_issues
from enstruct.estimators.left_out import left_out
from enstruct.estimators.training_table import Table
from enstruct.rules import Implies


@pytest.fixture(scope="module")
def rows():
    """Labels 0 and 1 are at odds in most rows, x says of each what a coin does; labels 2 and 3 go by x."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, 4))
    Y = np.stack([X[:, 0] + 2 * rng.standard_normal(600) > 0, X[:, 1] > 0, X[:, 2] > 0.5, X[:, 3] > 0], axis=1).astype(int)
    Y[:, 1] = np.where(rng.random(600) < 0.95, 1 - Y[:, 0], Y[:, 0])
    return X, Y


@pytest.fixture(scope="module")
def by_a_fifth(rows):
    """A tree without bounds has learnt its rows by heart, and is right about each of them."""
    return JointMultiLabelClassifier(DecisionTreeClassifier(random_state=0), folds=1, random_state=0).fit(*rows)


def table(n, of=2):
    rng = np.random.default_rng(0)
    return Table(rng.standard_normal((n, 2)), (rng.random((n, of)) > 0.5).astype(np.float32))


def test_each_row_is_left_out_once_or_a_fifth_alone():
    parts = left_out(table(50), 4, 0)
    assert len(parts) == 4
    assert sorted(np.concatenate(parts)) == list(range(50))
    (one,) = left_out(table(50), 1, 0)
    assert 8 <= len(one) <= 12
    for seed in range(20):
        assert len(left_out(table(20), 1, seed)[0]) >= 4
    assert len(left_out(table(6), 5, 0)) == 3, "of two rows at least"
    with pytest.raises(DataError, match="3 distinct rows are too few"):
        left_out(table(3), 2, 0)
    with pytest.raises(DataError, match="19 distinct rows are too few for folds=1, which needs 20"):
        left_out(table(19), 1, 0)


def test_few_rows(rows):
    X, Y = rows
    for form in (Y[:20], Y[:20, 0], np.where(np.arange(80).reshape(20, 4) % 7, Y[:20], np.nan)):
        model = JointMultiLabelClassifier(LogisticRegression(), folds=1, random_state=0).fit(sparse.csr_matrix(X[:20]), form)
        assert len(model.predict(sparse.csr_matrix(X[20:30]))) == 10


@pytest.mark.usefixtures("quick_joints", "quick_bases")
def test_rules_hold(rows):
    X, Y = rows
    Y = Y.copy()
    Y[:, 3] |= Y[:, 2]
    model = JointMultiLabelClassifier("binary-relevance", folds=1, rules=Implies(2, 3), random_state=0).fit(X, Y)
    answers = model.predict(X)
    assert (answers[:, 3] >= answers[:, 2]).all()


def test_a_model_that_is_trained_already_needs_no_part_left_out(rows):
    with pytest.raises(ConfigError, match="trained already"):
        JointMultiLabelClassifier(lambda X: np.full((len(X), 4), 0.5), folds=1).fit(*rows)


@pytest.mark.usefixtures("quick_joints", "quick_bases")
def test_a_base_that_chooses_has_all_of_the_time_where_nothing_follows(rows, monkeypatch):
    given = []
    real = bases.MethodBase.fit
    monkeypatch.setattr(
        bases.MethodBase, "fit", lambda self, *args: given.append(args[3] - time.monotonic()) or real(self, *args)
    )
    JointMultiLabelClassifier("extra-trees", folds=1, minutes=30, random_state=0).fit(*rows)
    assert given[0] > 1700


def test_a_fifth_left_out_teaches_the_energy(by_a_fifth, rows):
    fit, Y = by_a_fifth.fitted_on_, rows[1]
    assert 100 <= len(fit.table) <= 140
    there = fit.group >= 0
    assert np.array_equal(np.sort(fit.group[there]), np.arange(len(fit.table)))
    assert np.array_equal(fit.table.Y, Y[there][np.argsort(fit.group[there])])
    assert sorted(np.concatenate(fit.folds)) == list(range(len(fit.table)))
    wrong = ((fit.logits > 0) != fit.table.Y)[:, 0].mean()
    assert wrong > 0.2, "a tree that had seen them would be right about all"
    p = fit.marginals(by_a_fifth.constants_)
    assert np.array_equal(np.isnan(p), np.repeat(~there[:, None], 4, axis=1))


def test_what_labels_say_of_each_other_is_learnt_from_a_fifth(rows):
    by_a_fifth = JointMultiLabelClassifier("binary-relevance", folds=1, random_state=0).fit(*rows)
    known = np.full((200, 4), np.nan)
    known[:100, 0], known[100:, 0] = 1, 0
    p = by_a_fifth.predict_proba(np.random.default_rng(1).standard_normal((200, 4)), known=known)[:, 1]
    assert p[:100].mean() < 0.3
    assert p[100:].mean() > 0.7


@pytest.mark.usefixtures("quick_joints", "quick_bases")
def test_averages_are_chosen_by_the_rows_left_out(rows, monkeypatch):
    seen = []
    monkeypatch.setattr(joint, "best_score", lambda p, table, metric: seen.append((p.shape, len(table))) or 0.0)
    JointMultiLabelClassifier("binary-relevance", folds=1, random_state=0).fit(*rows)
    ((shape, n),) = seen
    assert shape == (n, 4)
    assert 100 <= n <= 140


@pytest.mark.usefixtures("quick_joints", "quick_bases")
def test_a_base_is_fitted_once(rows):
    model = JointMultiLabelClassifier("extra-trees", folds=1, random_state=0).fit(*rows)
    assert [len(base.models) for base in model.base_] == [1]


@pytest.mark.usefixtures("quick_joints", "quick_bases")
def test_repeated_rows_and_those_of_no_weight_go_with_their_like(rows):
    X, Y = rows
    weight = np.r_[0.0, np.ones(len(X))]
    model = JointMultiLabelClassifier("binary-relevance", folds=1, random_state=0)
    fit = model.fit(np.r_[X[:1] + 9, X], np.r_[Y[:1], Y], sample_weight=weight).fitted_on_
    assert fit.group[0] == -1
    assert np.isnan(fit.marginals(model.constants_)[0]).all()
    twice = JointMultiLabelClassifier("binary-relevance", folds=1, random_state=0).fit(np.r_[X, X], np.r_[Y, Y]).fitted_on_
    assert np.array_equal(twice.group[: len(X)], twice.group[len(X) :])


def test_suspects_are_asked_of_every_row(by_a_fifth, rows, monkeypatch):
    by_a_fifth = copy.copy(by_a_fifth).set_params(folds=5)  # it was not fitted so
    with pytest.raises(ConfigError, match="folds=1 leaves a fifth of the rows out"):
        label_issues(by_a_fifth, rows[1])
    monkeypatch.setattr(JointMultiLabelClassifier, "fit", lambda *_: pytest.fail("a fit first"))
    with pytest.raises(ConfigError, match="folds=1 leaves a fifth of the rows out"):
        find_label_issues(*rows, folds=1)
    with pytest.raises(ConfigError, match="folds=1 leaves a fifth of the rows out"):
        find_label_issues([["a"]] * 9, [["X"]] * 9, EnergySequenceTagger("crf"), folds=1)


@pytest.mark.usefixtures("quick_joints", "quick_bases")
def test_saved_and_loaded(rows, tmp_path):
    model = JointMultiLabelClassifier("binary-relevance", folds=1, random_state=0).fit(*rows)
    model.save(tmp_path / "model")
    loaded = JointMultiLabelClassifier.load(tmp_path / "model")
    assert loaded.folds == 1
    known = np.where(np.arange(rows[1].shape[1]) == 0, rows[1], np.nan)
    assert np.allclose(loaded.predict_proba(rows[0], known=known), model.predict_proba(rows[0], known=known))
