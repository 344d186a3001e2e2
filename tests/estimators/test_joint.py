"""The joint classifier: a base cross-fitted, an energy on top, and what only a joint can answer."""

import itertools
import json
import time

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import sparse
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from enstruct import EnergyMultiLabelClassifier, JointMultiLabelClassifier
from enstruct.baselines import observed_linear
from enstruct.baselines.boosting import GROWERS
from enstruct.cli.training import how_trained
from enstruct.data.hierarchy import Hierarchy
from enstruct.decisions.choose import make_rule
from enstruct.decisions.expected_f1 import decode
from enstruct.errors import ConfigError, DataError, ModelFileError
from enstruct.estimators import bases, joint, persistence
from enstruct.estimators.bases import ObservedBase
from enstruct.estimators.cross_fitting import cross_fit
from enstruct.estimators.network_classifier import NetworkClassifier
from enstruct.estimators.training_table import Table
from enstruct.methods import METHODS
from enstruct.rules import AtMost, Excludes, Implies, Soft
from enstruct.training import residual_candidates, residual_choice

N_LABELS = 5
SETS = np.array(list(itertools.product((0, 1), repeat=N_LABELS)), dtype=float)


def exclusive(n, seed):
    """Rows of which one of labels 0 to 2 is there, x saying little of which; label 3 goes with 0, label 4 is told by x alone."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 6))
    block = (X[:, :3] + 1.5 * rng.standard_normal((n, 3))).argmax(1)
    Y = np.zeros((n, N_LABELS), dtype=int)
    Y[np.arange(n), block] = 1
    Y[:, 3] = np.where(rng.random(n) < 0.95, block == 0, block != 0)
    Y[:, 4] = X[:, 4] > 0
    return X, Y


@pytest.fixture(scope="module")
def rows():
    return exclusive(700, 0)


@pytest.fixture(scope="module")
def fitted(rows):
    X, Y = rows
    return JointMultiLabelClassifier("binary-relevance", folds=3, random_state=0).fit(X[:500], Y[:500])


def log_loss(p, Y, cells=True):
    p = np.clip(p, 1e-6, 1 - 1e-6)
    return -np.mean((Y * np.log(p) + (1 - Y) * np.log(1 - p))[cells])


def test_dependence_is_kept_where_there_is_some(fitted):
    assert fitted.terms_ != "independent"
    assert fitted.likelihoods_[fitted.terms_] < fitted.likelihoods_["independent"] - 0.5


def test_what_is_told_tells_the_others(fitted, rows):
    X, Y = rows[0][500:], rows[1][500:]
    known = np.full(Y.shape, np.nan)
    known[:, 0] = Y[:, 0]
    asked = np.isnan(known)
    alone, told = fitted.predict_proba(X), fitted.predict_proba(X, known=known)
    assert np.array_equal(told[:, 0], Y[:, 0])
    assert log_loss(told, Y, asked) < log_loss(alone, Y, asked) - 0.05
    excluded = told[Y[:, 0] == 1][:, [1, 2]]  # of three exclusive labels one is there
    assert excluded.max() < 0.2
    assert excluded.mean() < 0.02


def test_probabilities_are_those_of_one_distribution(fitted, rows):
    X = rows[0][500:503]
    every = np.stack([np.exp(fitted.log_prob(X, np.tile(one, (3, 1)))) for one in SETS], axis=1)  # (rows, sets)
    np.testing.assert_allclose(every.sum(1), 1, atol=1e-5)
    known = np.full((3, N_LABELS), np.nan)
    known[:, 1] = 1
    given = every * (SETS[:, 1] == 1)
    marginals = given @ SETS / given.sum(1, keepdims=True)
    np.testing.assert_allclose(fitted.predict_proba(X, known=known), marginals, atol=1e-5)
    part = np.full((3, N_LABELS), np.nan)
    part[:, 2] = 0
    np.testing.assert_allclose(np.exp(fitted.log_prob(X, part)), (every * (SETS[:, 2] == 0)).sum(1), atol=1e-5)
    conditional = (given * (SETS[:, 2] == 0)).sum(1) / given.sum(1)
    np.testing.assert_allclose(np.exp(fitted.log_prob(X, part, known=known)), conditional, atol=1e-5)
    energies = np.stack([fitted.energy(X, np.tile(one, (3, 1))) for one in SETS], axis=1)
    np.testing.assert_allclose(np.exp(-energies) / np.exp(-energies).sum(1, keepdims=True), every, atol=1e-5)
    drawn = fitted.sample(X, 4000, known=known)
    assert drawn.shape == (3, 4000, N_LABELS)
    assert np.abs(drawn.mean(1) - marginals).max() < 4 * 0.5 / np.sqrt(4000)


def test_decisions_of_least_risk(fitted, rows):
    X, Y = rows[0][500:560], rows[1][500:560]
    every = np.stack([fitted.log_prob(X, np.tile(one, (60, 1))) for one in SETS], axis=1)
    assert np.array_equal(fitted.predict(X, decision="subset-accuracy"), SETS[every.argmax(1)])
    known = np.where(np.arange(N_LABELS) == 2, Y, np.nan)
    for decision in ("example-f1", "hamming", "jaccard", "threshold", lambda truth, predicted: (truth == predicted).mean(1)):
        assert np.array_equal(fitted.predict(X, known=known, decision=decision)[:, 2], Y[:, 2])
    assert (fitted.predict(X, top_k=2).sum(1) == 2).all()


def test_rows_of_which_something_is_told_get_the_set_of_largest_expected_f1(fitted, rows, monkeypatch):
    X, Y = rows[0][500:], rows[1][500:]
    known = np.full(Y.shape, np.nan)
    known[::2, 0] = Y[::2, 0]
    p, chosen, untold = fitted.predict_proba(X, known=known), fitted.predict(X, known=known), fitted.predict(X)
    best = decode(p, fitted.rules_["expected-f1"].allow_empty).toarray()
    assert (chosen[::2] == best[::2]).all()
    assert (chosen[1::2] == untold[1::2]).all()
    assert (best[::2] != untold[::2]).any()
    assert (fitted.predict(X, known=known, decision="fixed") == (p >= 0.5))[::2].all()
    with monkeypatch.context() as patch:
        conditionals, asked = fitted.conditionals, []
        patch.setattr(fitted, "conditionals", lambda X: asked.append(X) or conditionals(X))
        by_rule = fitted.predict_by_rule(X, known=known, risks=["hamming", "subset-accuracy"])
    assert len(asked) == 1  # of a base that may be dear
    assert by_rule.keys() == {*fitted.rules_, "hamming", "subset-accuracy"}
    for rule, sets in by_rule.items():
        assert (sets == fitted.predict(X, known=known, decision=rule)).all()


@pytest.mark.usefixtures("quick_joints", "quick_bases")
def test_a_rule_put_in_force_decides_rows_of_which_something_is_told():
    X, Y = exclusive(80, 4)
    model = EnergyMultiLabelClassifier(base="binary-relevance", random_state=0).fit(X, Y)
    known = np.where(np.arange(Y.shape[1]) == 0, Y, np.nan)
    by_name, chosen = model.predict(X, known=known, decision="fixed"), model.predict(X, known=known)
    assert (by_name != chosen).any()
    assert (model.set_decision("fixed").predict(X, known=known) == by_name).all()


@pytest.mark.usefixtures("quick_joints")
def test_answers_are_closed_in_a_hierarchy_and_told_labels_tell_what_follows(tmp_path):
    X, Y = exclusive(120, 3)
    Y = np.hstack([Y, Y[:, :2].max(1, keepdims=True)])  # the last label is the parent of the first two
    parent = Y.shape[1] - 1
    tree = Hierarchy(Y.shape[1], ((parent, 0), (parent, 1)))
    model = JointMultiLabelClassifier("binary-relevance", folds=2, rules=tree, random_state=0).fit(X, Y)
    known = np.full(Y.shape, np.nan)
    known[0, 0], known[1, parent] = 1, 0
    for decision in (None, "per-label", "subset-accuracy"):
        for told in (None, known):
            chosen = model.predict(X, known=told, decision=decision)
            assert (tree.close(chosen).toarray() == chosen).all()
    p = model.predict_proba(X, known=known)
    assert (p[0, [0, parent]].tolist(), p[1, [0, 1, parent]].tolist()) == ([1, 1], [0, 0, 0])
    for told in (None, known):
        p = model.predict_proba(X, known=told)
        assert (p[:, [parent]] >= p[:, :2]).all()
    model.save(tmp_path / "m")
    assert JointMultiLabelClassifier.load(tmp_path / "m").rules == tree
    single = JointMultiLabelClassifier("binary-relevance", folds=2, rules=Hierarchy(3, ((2, 0),)), random_state=0)
    classes = np.array(["a", "b", "c"])[Y[:, :3].argmax(1)]
    assert set(single.fit(X, classes).predict(X)) == {"a", "b", "c"}  # a row has one class, which implies none
    with pytest.raises(ConfigError, match="hierarchy of 2 labels"):
        model.set_params(rules=Hierarchy(2, ())).fit(X, Y)


def test_what_is_asked_next(fitted, rows):
    X, Y = rows[0][500:520], rows[1][500:520]
    assert set(fitted.ask(X)) <= {0, 1, 2, 3}  # label 4 hangs together with none, and x tells it
    known = Y.astype(float)
    known[:, 3] = np.nan
    assert (fitted.ask(X, known=known) == 3).all()
    with pytest.raises(DataError, match="row 0 are told"):
        fitted.ask(X, known=Y)


@pytest.mark.usefixtures("quick_joints")
def test_forms_of_what_is_told(rows):
    X, Y = rows
    names = ["a", "b", "c", "d", "e"]
    model = JointMultiLabelClassifier("binary-relevance", folds=2, random_state=0)
    model.fit(pd.DataFrame(X[:200]), pd.DataFrame(Y[:200], columns=names))
    frame = pd.DataFrame({"c": [1, None], "a": [None, 0]})
    expected = model.predict_proba(pd.DataFrame(X[:2]), known=np.array([[np.nan] * 2 + [1] + [np.nan] * 2, [0] + [np.nan] * 4]))
    for known in (frame, [{"c": True}, {"a": False}], [[None, None, 1, None, None], [0, -1, -1, -1, -1]]):
        assert np.array_equal(model.predict_proba(pd.DataFrame(X[:2]), known=known), expected)
    assert model.predict(pd.DataFrame(X[:2]), known=[{"c": True}, {}])[0, 2] == 1


@pytest.mark.usefixtures("few_candidates")
def test_holes_are_no_absence(rows):
    X, Y = rows
    holes = np.where(np.random.default_rng(0).random(Y.shape) < 0.4, np.nan, Y)
    holes[:, 4] = np.where(np.isnan(holes).all(1), Y[:, 4], holes[:, 4])
    model = JointMultiLabelClassifier(LogisticRegression(), folds=2, random_state=0).fit(X[:500], holes[:500])
    p = model.predict_proba(X[500:])
    assert abs(p.mean() - Y.mean()) < 0.04  # as zeros they would take 40% of it away
    assert log_loss(p, Y[500:]) < log_loss(np.full(Y[500:].shape, Y.mean()), Y[500:]) - 0.1
    whole = JointMultiLabelClassifier(LogisticRegression(), folds=2, random_state=0).fit(X[:500], Y[:500])
    assert abs(model.predict(X[500:]).sum(1).mean() - whole.predict(X[500:]).sum(1).mean()) < 0.4


@pytest.mark.usefixtures("quick_joints", "quick_bases")
def test_any_classifier_is_a_base(rows):
    X, Y = rows
    for base in (LogisticRegression(), ExtraTreesClassifier(20), "extra-trees"):
        model = JointMultiLabelClassifier(base, folds=2, random_state=0).fit(X[:100], Y[:100])
        again = JointMultiLabelClassifier(base, folds=2, random_state=0).fit(X[:100], Y[:100])
        assert np.array_equal(model.predict_proba(X[200:220]), again.predict_proba(X[200:220]))
    boosted = JointMultiLabelClassifier(minutes=1e-6, folds=2, random_state=0).fit(X[:200], Y[:200])
    assert [one.base.name for one in boosted.base_] == ["binary-relevance"]  # no time for more than the first


def test_a_base_too_slow_is_left_after_a_folds_share_of_the_time(rows):
    class Slow(ObservedBase):
        def fit(self, train, left_out, seed, deadline, like=None):
            given.append(deadline - time.monotonic())
            time.sleep(max(0, given[-1]) + 0.01)
            return super().fit(train, left_out, seed, deadline, like)

    given = []
    table = Table(rows[0][:90], rows[1][:90].astype(np.float32))
    folds = np.array_split(np.arange(90), 3)
    assert cross_fit(Slow("linear"), table, folds, 0, time.monotonic() + 6, last=False) is None
    assert given == [pytest.approx(6 / (3 + 1), abs=0.2)]


@pytest.mark.usefixtures("quick_joints", "quick_bases")
def test_where_the_first_base_took_all_of_the_time_others_have_a_third(rows, monkeypatch):
    def slow(base, table, folds, seed, deadline, last):
        given.append((base.name, deadline - time.monotonic(), last))
        time.sleep(0.4)
        return cross_fit(base, table, folds, seed, np.inf, last)

    given = []
    monkeypatch.setattr(joint, "cross_fit", slow)
    monkeypatch.setattr(
        joint, "automatic", lambda *_: [ObservedBase("network"), ObservedBase("linear"), ObservedBase("boosting")]
    )
    model = JointMultiLabelClassifier(minutes=0.3 / 60, folds=2, random_state=0).fit(rows[0][:90], rows[1][:90])
    assert given == [("network", pytest.approx(0.3, abs=0.1), True), ("linear", pytest.approx(0.1, abs=0.05), False)]
    assert set(model.base_scores_) >= {"network", "linear"}


def test_what_the_first_fold_chose_the_others_keep(rows):
    table = Table(rows[0][:120], rows[1][:120].astype(np.float32))
    folds = np.array_split(np.arange(120), 3)
    for name, odd in (("binary-relevance", {"C": 0.7}), ("extra-trees", {"leaf": 7})):  # which none would choose

        class FirstChoosesOddly(bases.MethodBase):
            def fit(self, train, left_out, seed, deadline, like=None, odd=odd):
                model = super().fit(train, left_out, seed, deadline, like)
                model.predictor_.chosen = odd if like is None else model.predictor_.chosen
                return model

        base = FirstChoosesOddly(METHODS[name], "example-f1")
        fitted = cross_fit(base, table, folds, 0, time.monotonic() + 60, last=False)
        assert [model.predictor_.chosen for model in fitted.models] == [odd, odd, odd]


def test_a_base_that_chooses_shows_what_a_fold_takes_by_its_second(rows):
    class Slow(bases.MethodBase):
        def fit(self, train, left_out, seed, deadline, like=None):
            given.append(deadline - time.monotonic())
            time.sleep(0.6)
            return super().fit(train, left_out, seed, deadline, like)

    given = []
    table = Table(rows[0][:90], rows[1][:90].astype(np.float32))
    folds = np.array_split(np.arange(90), 9)
    slow = Slow(METHODS["binary-relevance"], "example-f1")
    assert cross_fit(slow, table, folds, 0, time.monotonic() + 3, last=False) is None
    assert given == [pytest.approx(1, abs=0.2), np.inf]


@pytest.mark.usefixtures("quick_joints")
def test_forms_of_labels(rows):
    X, Y = rows[0][:120], rows[1][:120]
    make = lambda: JointMultiLabelClassifier("binary-relevance", folds=2, random_state=0)  # noqa: E731
    dense, csr = make().fit(X, Y), make().fit(sparse.csr_matrix(X), sparse.csr_matrix(Y))
    assert sparse.issparse(csr.predict(sparse.csr_matrix(X)))
    assert dense.predict(X).shape == Y.shape
    names = [[f"n{i}" for i in np.flatnonzero(row)] for row in Y]
    assert set(itertools.chain(*make().fit(X, names).predict(X))) <= {f"n{i}" for i in range(N_LABELS)}
    single = make().fit(X, Y[:, :3].argmax(1))
    assert single.terms_ == "classes"
    np.testing.assert_allclose(single.predict_proba(X).sum(1), 1)
    assert set(single.predict(X)) <= {0, 1, 2}


@pytest.fixture(scope="module")
def of_classes(rows):
    X, Y = rows[0][:160], np.array(["a", "b", "c"])[rows[1][:160, :3].argmax(1)]
    return JointMultiLabelClassifier("binary-relevance", folds=2, random_state=0).fit(X, Y), X, Y


def test_a_class_told_is_the_answer(of_classes):
    """By its name, by yes and no, by dict; a class told absent is none."""
    model, X, _ = of_classes
    for known in (["c", None] * 80, [{"c": True}, None] * 80, [[np.nan, np.nan, 1], [np.nan] * 3] * 80):
        told = model.predict(X, known=known)
        assert set(told[::2]) == {"c"}
        assert np.array_equal(told[1::2], model.predict(X)[1::2])
    p, without = model.predict_proba(X), model.predict_proba(X, known=[{"a": False}] * 160)
    assert not without[:, 0].any()
    np.testing.assert_allclose(without[:, 1:], p[:, 1:] / p[:, 1:].sum(1, keepdims=True), atol=1e-6)
    assert "a" not in model.predict(X, known=[{"a": False}] * 160)
    assert "a" not in model.predict(X, known=[{"a": False}] * 160, decision="subset-accuracy")
    for known, match in (
        ([{"a": True, "b": True}] * 160, "more than one class"),
        ([dict.fromkeys("abc", False)] * 160, "no class"),
    ):
        with pytest.raises(DataError, match=match):
            model.predict_proba(X, known=known)


def test_of_one_class_the_likeliest_is_least_risk_of_any_kind(of_classes):
    model, X, y = of_classes
    for decision in ("hamming", "example-f1", "jaccard"):
        assert np.array_equal(model.predict(X, decision=decision), model.predict(X))
    with pytest.raises(ConfigError, match="fixed"):
        model.set_decision("hamming")
    for decision in ("hamming", "threshold"):
        with pytest.raises(ConfigError, match="decided by argmax"):
            JointMultiLabelClassifier("binary-relevance", decision=decision).fit(X, y)
    # as samples of one class each are what a gain is asked about
    assert set(model.predict(X[:9], decision=lambda truth, predicted: (truth == predicted).all(1))) <= set("abc")


def test_classes_are_a_distribution(of_classes, tmp_path):
    model, X, y = of_classes
    p = model.predict_proba(X)
    log_p = np.stack([model.log_prob(X, [one] * 160) for one in "abc"], axis=1)
    np.testing.assert_allclose(np.exp(log_p), p, atol=1e-6)
    np.testing.assert_allclose(-model.energy(X, y), model.log_prob(X, y), atol=1e-5)
    drawn = model.sample(X[:20], 2000)
    assert (drawn.sum(-1) == 1).all()
    np.testing.assert_allclose(drawn.mean(1), p[:20], atol=0.05)
    assert model.likelihoods_["classes"] == pytest.approx(-model.log_prob(X, y).mean(), abs=0.3)  # by models that saw the rows
    assert set(model.ask(X[:9])) <= set("abc")
    model.save(tmp_path / "m")
    loaded = JointMultiLabelClassifier.load(tmp_path / "m")
    assert np.array_equal(loaded.predict_proba(X, known=[{"a": False}] * 160), model.predict_proba(X, known=[{"a": False}] * 160))


def test_what_contradicts_what_is_told_has_no_energy(fitted, rows):
    X, Y = rows[0][:8], rows[1][:8]
    known = np.full(Y.shape, np.nan)
    known[:, 0] = Y[:, 0]
    np.testing.assert_array_equal(fitted.energy(X, Y, known=known), fitted.energy(X, Y))
    known[3, 0] = 1 - Y[3, 0]
    assert np.isposinf(fitted.energy(X, Y, known=known)).tolist() == [i == 3 for i in range(8)]


@pytest.mark.usefixtures("quick_joints")
def test_decisions_of_least_risk_in_force(rows, tmp_path):
    """Named before the fit or after it, kept in the folder, taken back."""
    X, Y = rows[0][500:], rows[1][500:]
    fitted = JointMultiLabelClassifier("binary-relevance", folds=3, random_state=0).fit(rows[0][:500], rows[1][:500])
    wanted = fitted.predict(X, decision="subset-accuracy")
    assert fitted.terms_ != "independent"
    assert (wanted != fitted.predict(X)).any()
    other = JointMultiLabelClassifier("binary-relevance", folds=3, random_state=0, decision="subset-accuracy")
    other.fit(rows[0][:500], rows[1][:500]).save(tmp_path / "m")
    for model in (other, JointMultiLabelClassifier.load(tmp_path / "m")):
        assert model.decision_ == "subset-accuracy"
        assert np.array_equal(model.predict(X), wanted)
    assert other.set_decision("expected-f1").decision_ == "expected-f1"
    assert np.array_equal(other.predict(X), fitted.predict(X, decision="expected-f1"))
    loaded = EnergyMultiLabelClassifier.load(tmp_path / "m")
    assert loaded.set_decision("hamming").decision_ == "hamming"
    assert np.array_equal(loaded.predict(X), fitted.predict(X, decision="hamming"))
    assert loaded.decision == loaded.joint_.decision == "hamming"
    by_rule = loaded.predict_by_rule(X)
    assert [*by_rule] == [*loaded.rules_, "hamming"]
    assert np.array_equal(by_rule["hamming"], loaded.predict(X))
    with pytest.raises(ConfigError, match="decision='macro-f1': this metric is of whole tables"):
        other.set_decision("macro-f1")
    with pytest.raises(ConfigError, match="subset-accuracy"):
        other.set_decision("accuracy")
    with pytest.raises(ConfigError, match="bayes-risk"):
        JointMultiLabelClassifier("binary-relevance", decision="bayes-risk").fit(X, Y)
    with pytest.raises(ConfigError, match="this metric is of whole tables"):
        JointMultiLabelClassifier("binary-relevance", decision="micro-f1").fit(X, Y)


@pytest.mark.usefixtures("few_candidates")
def test_whole_sets_are_what_exact_match_asks_for(rows, monkeypatch):
    """Where the metric is exact match, and the joint knows what marginals do not, its likeliest set answers."""
    X, Y = rows
    model = JointMultiLabelClassifier("binary-relevance", folds=3, metric="subset-accuracy", random_state=0).fit(X[:500], Y[:500])
    assert model.decision_ == "subset-accuracy"
    by_rule = max((model.predict(X[500:], decision=name) == Y[500:]).all(1).mean() for name in model.rules_)
    assert model.score(X[500:], Y[500:]) > by_rule + 0.05
    monkeypatch.setattr(joint, "least_risk", lambda samples, *_: sparse.csr_matrix(1 - samples[:, 0]))
    model.fit(X[:500], Y[:500])
    assert model.decision_ != "subset-accuracy"


def test_rows_that_weigh_and_those_with_holes_choose_the_likeliest_set(fitted, rows):
    """By hand: of rows left out the set is right of the first alone, the rule of the second, none of the third; the others have
    holes."""
    Y = np.array([[0, 1], [0, 0], [1, 0], [np.nan, 1], [1, np.nan]], dtype=np.float32)

    class Judge:
        def __init__(self, which):
            self.which = which

        def take(self, some):
            return Judge(self.which[some])

        def sample(self, n):
            return torch.tensor([[0.0, 1.0]]).expand(len(self.which), 1, 2)

        def log_density(self, samples):
            return torch.zeros(samples.shape[:2])

    model = JointMultiLabelClassifier()
    for weight, wanted in (([1, 3, 1, 1, 1], "fixed"), ([1, 0.5, 3, 9, 9], "subset-accuracy"), (None, "fixed")):
        model.rules_, model.decision_, model.legality_ = {"fixed": make_rule("fixed")}, "fixed", None
        table = Table(rows[0][:5], Y, None if weight is None else np.array(weight, dtype=float))
        model._choose_likeliest(Judge(torch.arange(5)), np.full((5, 2), 0.1), table, np.arange(5))
        assert model.decision_ == wanted


def test_scores_of_what_is_known(fitted, rows):
    X, Y = rows[0][500:], rows[1][500:].astype(float)
    holes = np.where(np.arange(Y.shape[1]) == 2, np.nan, Y)
    answers = fitted.predict(X)
    wanted = 2 * (answers * Y)[:, [0, 1, 3, 4]].sum(1) / (answers + Y)[:, [0, 1, 3, 4]].sum(1).clip(1)
    empty = (answers + Y)[:, [0, 1, 3, 4]].sum(1) == 0
    assert fitted.score(X, holes) == pytest.approx(np.where(empty, 1, wanted).mean())
    assert fitted.score(X, Y) == fitted.score(X, Y.astype(int))


def test_densities_are_of_the_joint_alone(rows):
    X, Y = rows[0][:60], rows[1][:60]
    model = EnergyMultiLabelClassifier("binary-relevance").fit(X, Y)
    for asked in (lambda: model.log_prob(X, Y), lambda: model.ask(X), lambda: model.energy(X, Y, known=Y)):
        with pytest.raises(ConfigError, match="method='binary-relevance' answers by its networks, label by label: fit"):
            asked()


@pytest.mark.usefixtures("quick_joints")
def test_labels_that_never_vary_are_as_they_were(rows):
    X, Y = rows[0][:120], rows[1][:120].copy()
    Y[:, 1] = 0
    model = JointMultiLabelClassifier("binary-relevance", folds=2, random_state=0).fit(X, Y)
    assert (model.predict_proba(X)[:, 1] == 0).all()
    assert (model.sample(X[:3], 5)[..., 1] == 0).all()
    assert np.isneginf(model.log_prob(X[:1], [[0, 1, 0, 0, 0]])).all()
    with pytest.raises(DataError, match="has 1, which training rows never had"):
        model.predict(X[:1], known=[[np.nan, 1, np.nan, np.nan, np.nan]])


@pytest.mark.parametrize("base", ["binary-relevance", "boosting", "auto"])
@pytest.mark.usefixtures("quick_joints", "quick_bases")
def test_saved_and_loaded(rows, tmp_path, base):
    X, Y = rows[0][:160], rows[1][:160]
    model = JointMultiLabelClassifier(base, folds=2, minutes=0.05, random_state=0).fit(X, Y)
    model.save(tmp_path / "m", notes={"of": "tests"})
    model.save(tmp_path / "m", notes={"of": "tests"})  # a model of its own kind is replaced
    loaded = JointMultiLabelClassifier.load(tmp_path / "m")
    known = np.where(np.arange(N_LABELS) == 0, Y, np.nan)
    assert np.array_equal(loaded.predict_proba(X, known=known), model.predict_proba(X, known=known))
    assert np.array_equal(loaded.predict(X), model.predict(X))
    assert loaded.notes_ == {"of": "tests"}
    (tmp_path / "m" / "mine.txt").write_text("")
    with pytest.raises(ModelFileError, match="is not the model's"):
        model.save(tmp_path / "m")


@pytest.mark.usefixtures("quick_joints")
def test_many_cells_are_sampled_where_marginals_are_compared_and_rules_fitted(rows, monkeypatch):
    monkeypatch.setattr(joint, "FILLED", 40 * N_LABELS)
    monkeypatch.setattr(joint, "JUDGED", 10 * N_LABELS)
    fitted_to = []
    monkeypatch.setattr(joint.LabelRules, "fit", lambda p, rows, *rest: fitted_to.append(len(p)) or joint.LabelRules())
    X, Y = rows[0][:200], rows[1][:200].astype(float)
    for table in (Y, np.where(np.eye(200, N_LABELS, dtype=bool), np.nan, Y)):
        JointMultiLabelClassifier(LogisticRegression(), folds=2, random_state=0).fit(X, table)
    assert fitted_to == [200, 40]


@pytest.mark.usefixtures("quick_joints")
def test_holes_are_filled_row_by_row(rows, monkeypatch):
    """Rules of tables with holes learn from draws that are independent from row to row: of each label's holes as many are
    filled with yes as its probabilities there say, which a random number that all rows share would miss by far."""
    X, Y = rows[0], rows[1][:, ::-1]  # the last label is the uncertain one, which decides a state's place among all of them
    hole = np.random.default_rng(0).random(Y.shape) < 0.7
    hole[:, 0] &= ~hole.all(1)
    learnt = []

    class Watched(joint.LabelRules):
        @classmethod
        def fit(cls, p, data, *settings):
            learnt.append((p, data.Y.toarray()))
            return super().fit(p, data, *settings)

    monkeypatch.setattr(joint, "LabelRules", Watched)
    for seed in range(3):
        JointMultiLabelClassifier(LogisticRegression(), folds=2, random_state=seed).fit(X, np.where(hole, np.nan, Y))
    away = [[(filled - p)[hole[:, k], k].mean() for k in range(N_LABELS)] for p, filled in learnt]
    assert np.abs(away).max() < 0.07, away


@pytest.mark.usefixtures("quick_joints", "quick_bases")
@pytest.mark.parametrize("base", ["binary-relevance", "linear-svm", "boosting"])
def test_named_bases_take_holes(base, rows, tmp_path):
    X, Y = rows
    holes = np.where(np.random.default_rng(0).random(Y.shape) < 0.2, np.nan, Y)
    holes[:, 4] = np.where(np.isnan(holes).all(1), Y[:, 4], holes[:, 4])
    model = JointMultiLabelClassifier(base, folds=2, random_state=0).fit(X, holes)
    assert log_loss(model.base_proba(X), Y) < log_loss(np.tile(Y.mean(0), (len(Y), 1)), Y)
    model.save(tmp_path / "m")
    assert np.array_equal(JointMultiLabelClassifier.load(tmp_path / "m").base_proba(X), model.base_proba(X))


@pytest.mark.usefixtures("quick_joints", "quick_bases")
def test_models_of_tables_with_holes_are_saved(rows, tmp_path):
    X, Y = rows[0][:200], rows[1][:200].astype(float)
    Y[::3, 1] = np.nan
    for table in (X, sparse.csr_matrix(X)):
        model = JointMultiLabelClassifier(folds=2, random_state=0).fit(table, Y)
        model_of_rows = "linear-svm" if sparse.issparse(table) else "linear"
        assert {one.base.name for one in model.base_} <= {model_of_rows, "network", *GROWERS}
        model.save(tmp_path / "m")
        known, loaded = np.where(np.arange(5) == 2, rows[1][:200], np.nan), JointMultiLabelClassifier.load(tmp_path / "m")
        assert np.array_equal(loaded.predict_proba(table, known=known), model.predict_proba(table, known=known))
    with pytest.raises(ConfigError, match="y has holes"):
        JointMultiLabelClassifier("extra-trees", folds=2).fit(X, Y)


@pytest.mark.usefixtures("quick_joints", "quick_bases")
def test_networks_of_observed_labels_are_those_of_the_folds_and_saved_one_by_one(rows, tmp_path, monkeypatch):
    monkeypatch.setattr(joint, "automatic", lambda *_: [ObservedBase("network"), ObservedBase("linear")])
    monkeypatch.setattr(joint, "choose", lambda fitted, score: ([0, 1], {"both": 1.0}))
    X, Y = rows[0][:200], rows[1][:200].astype(float)
    Y[::3, 1] = np.nan
    model = JointMultiLabelClassifier(folds=3, random_state=0).fit(X, Y)
    network, linear = model.base_
    assert (len(network.models), len(linear.models)) == (3, 1)
    apart = [network.base.marginals(one, X) for one in network.models]
    assert np.array_equal(network.answer(X), np.mean(apart, axis=0))
    assert not np.array_equal(apart[0], apart[1])
    model.save(tmp_path / "m")
    assert np.array_equal(JointMultiLabelClassifier.load(tmp_path / "m").predict_proba(X), model.predict_proba(X))
    header = json.loads((tmp_path / "m" / "joint.json").read_text())
    for members in (1, 2**31 - 1):
        header["bases"][0]["members"] = members
        (tmp_path / "m" / "joint.json").write_text(json.dumps(header))
        with pytest.raises(ModelFileError, match="another number of models"):
            JointMultiLabelClassifier.load(tmp_path / "m")


def test_the_linear_base_is_one_logistic_regression_a_label(rows, monkeypatch):
    monkeypatch.setattr(observed_linear, "PENALTIES", (0.3,))
    X, Y = 3 * rows[0][:200] + 2, rows[1][:200].astype(np.float32)
    Y[::3, 1] = np.nan
    base = ObservedBase("linear")
    p = base.marginals(base.fit(Table(X, Y), None, 0, np.inf), X)
    seen = ~np.isnan(Y[:, 1])
    pipeline = make_pipeline(StandardScaler(), LogisticRegression(C=0.3, solver="liblinear", intercept_scaling=10.0))
    np.testing.assert_allclose(p[:, 1], pipeline.fit(X[seen], Y[seen, 1] > 0).predict_proba(X)[:, 1], atol=1e-4)


def test_an_energy_of_factors_is_saved(rows, tmp_path, monkeypatch):
    monkeypatch.setattr(residual_candidates, "MOST_PAIRS", 2)
    monkeypatch.setattr(residual_candidates, "MOST_UNITS", 2)
    X, Y = rows
    model = JointMultiLabelClassifier("binary-relevance", folds=2, random_state=0).fit(X[:300], Y[:300])
    assert model.terms_.startswith("factors")
    model.save(tmp_path / "m")
    known = np.where(np.arange(Y.shape[1]) < 2, Y[:20].astype(float), np.nan)
    loaded = JointMultiLabelClassifier.load(tmp_path / "m")
    assert np.array_equal(loaded.predict_proba(X[:20], known=known), model.predict_proba(X[:20], known=known))


@pytest.mark.usefixtures("quick_joints", "quick_bases")
def test_of_many_labels_the_network_comes_first_and_nothing_begins_late(rows, monkeypatch):
    X, Y = rows
    table = Table(X, Y.astype(np.float32))

    def names():
        return [base.name for base in bases.automatic(table, "example-f1")]

    assert names()[0] == "binary-relevance"
    dense, table = table, Table(sparse.csr_matrix(X), table.Y)
    assert names()[:3] == ["linear-svm", "cross-entropy", "binary-relevance"]  # as of terms of texts
    table = dense
    monkeypatch.setattr(bases, "MANY_LABELS", 2)
    assert names()[:3] == ["cross-entropy", "extra-trees", "binary-relevance"]
    table = Table(sparse.csr_matrix(X), table.Y)
    assert names()[:3] == ["cross-entropy", "linear-svm", "extra-trees"]
    table = Table(X, table.Y)
    table.Y[0, 0] = np.nan
    assert names()[:2] == ["network", "linear"]
    begun = []
    monkeypatch.setattr(joint, "cross_fit", lambda base, *a, **k: begun.append(base.name) or cross_fit(base, *a, **k))
    JointMultiLabelClassifier(folds=2, minutes=1e-9, random_state=0).fit(X[:60], Y[:60])
    assert begun == ["cross-entropy"]


@pytest.mark.usefixtures("quick_joints", "stacked_terms")
def test_stacked_terms_are_tried_saved_and_loaded(rows, tmp_path, monkeypatch):
    X, Y = rows[0][:160], rows[1][:160]
    model = JointMultiLabelClassifier("binary-relevance", folds=2, random_state=0).fit(X, Y)
    assert any("stacked" in terms for terms in model.likelihoods_)
    monkeypatch.setattr(JointMultiLabelClassifier, "_candidates", (residual_candidates.CANDIDATES[1].with_stack(),))
    model.fit(X, Y)
    assert model.terms_ == "pairs, stacked"
    model.save(tmp_path / "m")
    loaded = JointMultiLabelClassifier.load(tmp_path / "m")
    assert bool(loaded.energy_.stack.any())
    known = np.where(np.arange(Y.shape[1]) < 2, Y[:20].astype(float), np.nan)
    assert np.array_equal(loaded.predict_proba(X[:20], known=known), model.predict_proba(X[:20], known=known))


@pytest.mark.usefixtures("quick_joints")
def test_a_base_of_ones_own_is_passed_to_load(rows, tmp_path):
    X, Y = rows[0][:160], rows[1][:160]
    model = JointMultiLabelClassifier(ExtraTreesClassifier(10), folds=2, random_state=0).fit(X, Y)
    model.save(tmp_path / "m")
    with pytest.raises(ModelFileError, match="pass base=, that classifier fitted"):
        JointMultiLabelClassifier.load(tmp_path / "m")
    loaded = JointMultiLabelClassifier.load(tmp_path / "m", base=model.base_[0].models[0])
    assert np.array_equal(loaded.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize(
    ("change", "error", "match"),
    [
        ({"base": "extra-tree"}, ConfigError, "extra-trees"),
        ({"base": RidgeClassifier()}, ConfigError, "gives no probabilities"),
        ({"base": 3}, ConfigError, "base= is 'auto'"),
        ({"folds": 0}, ConfigError, "folds"),
        ({"metric": "f1"}, ConfigError, "metric"),
        ({"decision": "bayes"}, ConfigError, "decision"),
    ],
)
def test_settings_that_cannot_be_meant(rows, change, error, match):
    model = JointMultiLabelClassifier(**{"base": "binary-relevance", "folds": 2, **change})
    with pytest.raises(error, match=match):
        model.fit(rows[0][:60], rows[1][:60])
    with pytest.raises(NotFittedError):
        model.predict(rows[0][:2])


@pytest.mark.usefixtures("quick_joints", "quick_bases")
def test_tables_that_would_fill_the_memory_are_refused(rows, monkeypatch):
    monkeypatch.setattr("enstruct.estimators.joint.MOST_CELLS", 60 * rows[1].shape[1])
    model = JointMultiLabelClassifier("binary-relevance", folds=2).fit(rows[0][:60], rows[1][:60])
    with pytest.raises(ConfigError, match=f"61 x {rows[1].shape[1]} would fill the memory") as error:
        model.fit(rows[0][:61], rows[1][:61])
    assert len(str(error.value)) <= 300
    assert model.predict(rows[0][:2]).shape[0] == 2  # what was fitted before is there


@pytest.mark.parametrize(
    ("known", "match"),
    [
        ([[2, 0, 0, 0, 0]], "row 0, label 0: 1 for yes"),
        ([[1, 0]], "2 columns, and there are 5 labels"),
        ([[np.nan] * 5] * 2, "one row of known for each"),
        ([{7: True}], "7"),
        ([{0: "perhaps"}], "True, False or None"),
        ([{"0": True}], "labels are ints there, as 0"),
        ("abc", "it is 'abc'"),
        ({1: True}, "one dict: put one for each row into a list"),
        ([[0]], "1 columns"),
        ([[0, 1], [1]], r"row 0 is \[0, 1\]"),
        ([{0: True}, [1]], r"row 1 is \[1\]"),
        ([], "dicts"),
    ],
)
def test_what_cannot_be_told(fitted, rows, known, match):
    with pytest.raises(DataError, match=match) as caught:
        fitted.predict(rows[0][:1], known=known)
    assert len(str(caught.value)) <= 300


def test_sets_in_the_place_of_what_is_told_are_refused():
    """They would tell of every other label that it is not there."""
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(60, 3)), [["a"] * (i % 2) + ["b"] * (i % 3 > 0) for i in range(60)]
    model = JointMultiLabelClassifier("binary-relevance", folds=2, random_state=0).fit(X, Y)
    with pytest.raises(DataError, match=r"row 0 is \['a'\]"):
        model.predict(X[:2], known=[["a"], []])
    told = model.predict_proba(X[:2], known=[{"a": True}, None])
    assert told[0, 0] == 1
    np.testing.assert_allclose(told[1], model.predict_proba(X[1:2])[0])


@pytest.mark.usefixtures("quick_joints", "quick_bases")
def test_energies_are_those_of_the_distribution_under_rules():
    """E + log p is one number for all sets of a row that have any probability; the others' energy is infinite."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    Y = rng.random((80, 5)) < 0.5
    Y[:, 1] &= ~Y[:, 0]
    Y[:, 4] = False
    rules = [Excludes(0, 1), Soft(Implies(2, 3), 0.5)]
    model = JointMultiLabelClassifier("binary-relevance", folds=2, rules=rules, random_state=0).fit(X, Y.astype(int))
    sets = np.array(list(itertools.product((0, 1), repeat=5)))
    energy, log_p = (ask(np.repeat(X[:1], 32, 0), sets) for ask in (model.energy, model.log_prob))
    possible = (sets[:, 4] == 0) & ~(sets[:, 0] & sets[:, 1]).astype(bool)
    assert np.array_equal(np.isfinite(energy), possible)
    assert np.array_equal(np.isfinite(log_p), possible)
    assert np.ptp(energy[possible] + log_p[possible]) < 1e-4
    with pytest.raises(DataError, match="X has 3 rows and y 2"):
        model.energy(X[:3], sets[:2])
    with pytest.raises(DataError, match="without holes"):
        model.energy(X[:1], np.full((1, 5), np.nan))


def test_where_rules_leave_no_time_the_base_answers_under_them(rows, monkeypatch, tmp_path):
    """Told labels change the others as enumeration of independent labels that keep the rules has it."""
    monkeypatch.setattr(residual_choice, "MOST_OF_THE_TIME", -1.0)
    X, Y = rows[0][:120], rows[1][:120].copy()
    Y[:, 1] |= Y[:, 0]
    model = JointMultiLabelClassifier("binary-relevance", folds=2, rules=Implies(0, 1), random_state=0).fit(X, Y)
    assert (model.likelihoods_, model.terms_, model.marginals_of_) == ({}, "independent", "base")
    assert "its rules left no time" in how_trained(model)
    np.testing.assert_array_equal(model.predict_proba(X), model.base_proba(X))
    known = np.full((1, Y.shape[1]), np.nan)
    known[0, 2] = 1
    sets = np.array([[*pair, 1, *([0] * (Y.shape[1] - 3))] for pair in ((0, 0), (0, 1), (1, 1))])
    p = np.exp(-model.energy(np.repeat(X[:1], 3, 0), sets))
    np.testing.assert_allclose(model.predict_proba(X[:1], known=known)[0, :2], [p[2] / p.sum(), p[1:].sum() / p.sum()], atol=1e-5)
    model.save(tmp_path / "m")
    np.testing.assert_array_equal(JointMultiLabelClassifier.load(tmp_path / "m").predict_proba(X), model.predict_proba(X))


def test_rows_that_no_model_takes(fitted, rows):
    huge = rows[0][:3].copy()
    huge[1, 0] = -1e300
    with pytest.raises(DataError, match=r"X holds -1e\+300 in row 1, column 0, beyond 3e\+38"):
        fitted.predict(huge)
    with pytest.raises(DataError, match=r"row 1, column 0"):
        fitted.predict(sparse.csr_matrix(huge))
    frame = pd.DataFrame(rows[0][:30], columns=[0, *(f"x{i}" for i in range(1, rows[0].shape[1]))])
    with pytest.raises(DataError, match=r"X.columns.astype\(str\)"):
        JointMultiLabelClassifier("binary-relevance").fit(frame, rows[1][:30])


@pytest.mark.parametrize("method", ["joint", "seal-nce", "spen", "jiont"])
def test_what_a_classifier_has_can_be_listed(method):
    model = EnergyMultiLabelClassifier(method)
    assert "predict" in dir(model)
    assert hasattr(model, "density_") == (method != "jiont")


def test_a_method_that_there_is_not_is_named_whatever_the_base(rows):
    with pytest.raises(ConfigError, match=r"Unknown method 'jiont'\. Did you mean 'joint'"):
        EnergyMultiLabelClassifier("jiont", base="binary-relevance").fit(*rows)


def test_decisions_that_are_none(fitted, rows):
    with pytest.raises(ConfigError, match="name of a decision"):
        fitted.predict(rows[0][:2], decision=["fixed"])
    with pytest.raises(DataError, match=r"gain\(truth, predicted\)"):
        fitted.predict(rows[0][:2], decision=lambda a: 3)


@pytest.mark.usefixtures("quick_joints", "quick_bases")
def test_rows_of_which_nothing_is_known(rows):
    X, Y = rows[0][:60], rows[1][:60].astype(float)
    Y[7] = np.nan
    with pytest.raises(DataError, match="row 7"):
        JointMultiLabelClassifier("binary-relevance").fit(X, Y)
    Y = rows[1][:60].astype(float)
    Y[:, 2] = np.nan
    with pytest.raises(DataError, match="the label 2 in any row"):
        JointMultiLabelClassifier("binary-relevance").fit(X, Y)
    with pytest.raises(DataError, match="3 distinct rows are too few to leave some of them out"):
        JointMultiLabelClassifier("binary-relevance").fit(X[:3], rows[1][:3])
    assert len(JointMultiLabelClassifier("binary-relevance", random_state=0).fit(X[:9], rows[1][:9]).fitted_on_.folds) == 4


@pytest.mark.usefixtures("quick_joints", "quick_bases")
def test_a_gain_of_ones_own_sees_all_labels(rows):
    """Those that never varied, too."""
    X, Y = rows
    Y = np.insert(Y[:300], 0, 1, axis=1)
    model = JointMultiLabelClassifier("binary-relevance", folds=3, random_state=0).fit(X[:300], Y)
    widths = set()

    def gain(truth, predicted):
        widths.add((truth.shape[1], predicted.shape[1]))
        return ((truth == predicted) * np.array([0, 1, 1, 1, 9, 1])).sum(1)

    assert model.predict(X[:20], decision=gain)[:, 0].all()
    assert widths == {(6, 6)}
    with pytest.raises(ConfigError, match="each name a rule"):
        model.predict(X[:20], decision=gain, top_k=1)


@pytest.mark.usefixtures("quick_joints", "quick_bases")
def test_rows_of_which_nothing_is_told_are_answered_as_without_known_under_rules_that_fix_a_label(rows):
    X, Y = rows
    model = JointMultiLabelClassifier("binary-relevance", folds=3, random_state=0, rules=AtMost(0, [1]))
    model.fit(X[:300], np.where(np.arange(N_LABELS) == 1, np.arange(300)[:, None] < 1, Y[:300]))
    for name in ("base", "joint"):
        model.marginals_of_ = name
        assert np.array_equal(model.predict(X[:80]), model.predict(X[:80], known=[{}] * 80))
        assert np.array_equal(model.predict_proba(X[:80]), model.predict_proba(X[:80], known=[{}] * 80))


@pytest.mark.parametrize("kind", [JointMultiLabelClassifier, NetworkClassifier])
def test_one_class_a_row_is_saved_whatever_hierarchy_is_over_the_classes(kind, rows, tmp_path):
    X, Y = rows
    model = kind("binary-relevance", rules=[Hierarchy(3, ((0, 1),))], random_state=0).fit(X[:200], Y[:200, :3].argmax(1))
    model.save(tmp_path / "m")
    assert np.array_equal(kind.load(tmp_path / "m").predict(X), model.predict(X))
    model.rules = [Excludes(0, 1)]
    with pytest.raises(ConfigError, match="changed after fit"):
        model.save(tmp_path / "other")


def test_samples_of_networks_under_rules_are_those_of_their_seed(rows):
    X, Y = rows
    model = NetworkClassifier("binary-relevance", rules=Excludes(0, 1), random_state=0).fit(X[:300], Y[:300])
    before = torch.random.get_rng_state()
    assert np.array_equal(model.sample(X, 5, random_state=1), model.sample(X, 5, random_state=1))
    assert not np.array_equal(model.sample(X, 5, random_state=1), model.sample(X, 5, random_state=2))
    assert torch.equal(torch.random.get_rng_state(), before)


@pytest.mark.usefixtures("quick_joints", "quick_bases")
def test_sets_by_every_rule_given_what_is_known(rows):
    X, Y = rows
    model = EnergyMultiLabelClassifier(base="binary-relevance", random_state=0).fit(X[:300], Y[:300])
    known = [{3: True}] * 20
    for name, sets in model.predict_by_rule(X[:20], known=known, risks=["hamming"]).items():
        assert sets[:, 3].all()
        assert np.array_equal(sets, model.predict(X[:20], known=known, decision=name)), name
    with pytest.raises(ConfigError, match="Did you mean 'hamming'"):
        model.predict_by_rule(X, risks=["haming"])
    network = EnergyMultiLabelClassifier("cross-entropy", max_epochs=1, random_state=0).fit(X[:100], Y[:100])
    for asked in ({"known": known}, {"risks": ["hamming"]}):
        with pytest.raises(ConfigError, match="answered by a joint distribution"):
            network.predict_by_rule(X[:20], **asked)


def test_files_of_older_versions_have_no_bounds_of_logits(fitted, rows, tmp_path, monkeypatch):
    fitted.save(tmp_path / "m")
    read = persistence.Weights.read
    bounds = ("energy/lowest", "energy/highest")
    monkeypatch.setattr(persistence.Weights, "read", lambda self: {k: v for k, v in read(self).items() if k not in bounds})
    old = JointMultiLabelClassifier.load(tmp_path / "m")
    assert np.isinf(old.energy_.lowest.numpy()).all()
    assert np.array_equal(old.predict_proba(rows[0][500:520]), fitted.predict_proba(rows[0][500:520]))
