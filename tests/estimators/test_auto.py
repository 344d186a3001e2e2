"""The automatic classifier: members, budget, choice, answers, saving."""

import json
import time

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from enstruct import AutoMultiLabelClassifier, EnergyMultiLabelClassifier
from enstruct.baselines.extra_trees import TREES_A_PROJECTION
from enstruct.data.rows import Rows
from enstruct.data.splits import stratified_folds
from enstruct.data.synthetic import block_exclusive
from enstruct.decisions.choose import cross_validate
from enstruct.errors import ConfigError, ConstantLabelWarning, DataError, ModelFileError
from enstruct.estimators.candidates import AVERAGEABLE
from enstruct.estimators.label_rows import merge_duplicates
from enstruct.estimators.members import CONSIDERED, TRAINED, changed, default_methods
from enstruct.estimators.network_classifier import NetworkClassifier
from enstruct.rules import Excludes

FAST = {"hidden": 16, "layers": 1, "max_epochs": 4, "learning_rate": 0.01}


@pytest.fixture(scope="module")
def rows():
    return block_exclusive(240, seed=1)


@pytest.fixture(scope="module")
def fitted(rows):
    return AutoMultiLabelClassifier(members=2, settings=FAST, random_state=3).fit(rows.X, rows.Y)


@pytest.mark.usefixtures("quick_bases")
def test_members_are_what_one_would_fit_alone(fitted, rows):
    alone = EnergyMultiLabelClassifier("seal-nce", **FAST, random_state=4)  # the second: with the method's own weight
    again = AutoMultiLabelClassifier(members=2, settings=FAST, random_state=3)
    again.fit(rows.X[:160], rows.Y[:160], None, rows.X[160:], rows.Y[160:])
    assert [name for name, _ in again.members_] == [*CONSIDERED, *TRAINED]
    assert again.judged_rows_ == 80
    assert again.n_features_in_ == rows.X.shape[1]
    alone.fit(rows.X[:160], rows.Y[:160], X_val=rows.X[160:], y_val=rows.Y[160:])
    assert np.array_equal(again.members_[5][1].predict_proba(rows.X), alone.predict_proba(rows.X))


def test_rounds_hold_out_one_fold_after_another(fitted, rows):
    names = [name for name, _ in fitted.members_]
    assert names == [*CONSIDERED] * 2
    distinct = merge_duplicates(Rows(rows.X, rows.Y))
    folds = [np.sort(fold) for fold in stratified_folds(distinct.Y, 5, 3)]
    assert fitted.judged_rows_ == len(folds[0]) + len(folds[1])
    held = distinct.take(folds[1])
    kept = distinct.take(np.setdiff1d(np.arange(len(distinct)), folds[1]))
    alone = EnergyMultiLabelClassifier("cross-entropy", **FAST, random_state=4)
    alone.fit(kept.X, kept.Y, X_val=held.X, y_val=held.Y)
    assert np.array_equal(fitted.members_[6][1].predict_proba(rows.X), alone.predict_proba(rows.X))
    judged = distinct.take(np.concatenate(folds[:2]))
    blind = [fitted.members_[i][1].predict_proba(distinct.X[fold]) for i, fold in ((0, folds[0]), (4, folds[1]))]
    expected = cross_validate(AVERAGEABLE, np.concatenate(blind), judged.Y)
    assert fitted.candidates_["binary-relevance"] == pytest.approx(expected.scores)


def test_a_solver_is_not_fitted_to_the_same_rows_twice(rows):
    model = AutoMultiLabelClassifier(("binary-relevance", "cross-entropy"), members=3, folds=2, settings=FAST, random_state=0)
    names = [name for name, _ in model.fit(rows.X, rows.Y).members_]
    assert names == ["binary-relevance", "cross-entropy"] * 2 + ["cross-entropy"]


def test_labels_of_few_rows_are_warned_of_once(rows):
    Y = rows.Y.toarray()
    Y[:, 0], Y[:, 1] = 0, 0
    Y[0, 1] = 1  # in four of five folds' training rows
    with pytest.warns(ConstantLabelWarning) as told:
        model = AutoMultiLabelClassifier(("binary-relevance",), members=5, random_state=0).fit(rows.X, Y)
    assert len(told) == 1
    assert "1 of 16 labels" in str(told[0].message)
    assert sum(1 in member.data_.constants.varying for _, member in model.members_) == 4
    assert (model.predict_proba(rows.X)[:, 0] == 0).all()


def test_candidates_are_means_and_the_best_on_validation_rows_answers(fitted, rows):
    mixed = {"networks", "networks+binary-relevance", "networks+extra-trees", "everything"}
    assert set(fitted.candidates_) == {*CONSIDERED, *mixed}
    best = max(max(scores.values()) for scores in fitted.candidates_.values())
    assert max(fitted.candidates_[fitted.chosen_].values()) == best
    p = {name: [m.predict_proba(rows.X) for n, m in fitted.members_ if n == name] for name in fitted.methods_}
    means = {name: np.mean(parts, axis=0) for name, parts in p.items()}
    expected = means | {
        "networks": (means["cross-entropy"] + means["seal-nce"]) / 2,
        "networks+extra-trees": (means["cross-entropy"] + means["seal-nce"] + means["extra-trees"]) / 3,
        "everything": sum(means.values()) / 4,
    }
    for name, mean in expected.items():
        assert np.allclose(fitted.predict_proba(rows.X, candidate=name), mean)
    assert np.array_equal(fitted.predict_proba(rows.X), fitted.predict_proba(rows.X, candidate=fitted.chosen_))
    with pytest.raises(ConfigError, match="everything"):
        fitted.predict_proba(rows.X, candidate="everthing")
    predicted = fitted.predict(rows.X)
    assert np.array_equal(predicted.toarray(), fitted.rules_[fitted.decision_].predict(fitted.predict_proba(rows.X)).toarray())
    assert fitted.score(rows.X, rows.Y) > 0.5


def test_answers_of_candidates_by_their_own_rules(fitted, rows):
    for name, rule in fitted.candidate_rules_.items():
        expected = rule.predict(fitted.predict_proba(rows.X, candidate=name)).toarray()
        assert np.array_equal(fitted.predict(rows.X, candidate=name).toarray(), expected)
    assert np.array_equal(fitted.predict(rows.X, candidate=fitted.chosen_).toarray(), fitted.predict(rows.X).toarray())
    other = next(name for name in fitted.groups_ if name != fitted.chosen_)
    assert (fitted.predict(rows.X, candidate=other, top_k=2).sum(1) == 2).all()
    with pytest.raises(ConfigError, match="leave it out"):
        fitted.predict(rows.X, candidate=other, decision="threshold")


@pytest.mark.usefixtures("quick_joints", "quick_bases")
def test_a_baseline_wins_where_it_is_best(rows):
    untrained = {**FAST, "max_epochs": 1, "learning_rate": 1e-6}
    model = AutoMultiLabelClassifier(members=1, settings=untrained, random_state=0).fit(rows.X, rows.Y)
    assert model.chosen_ in ("binary-relevance", "extra-trees")


def test_counts_get_a_linear_model_on_weighted_terms(rows):
    counts = sparse.csr_matrix(np.abs(np.rint(rows.X)))
    assert default_methods(counts) == ("binary-relevance-tfidf", "extra-trees", *TRAINED)
    for others in (counts.toarray(), -counts, 0.5 * counts):
        assert default_methods(others) == CONSIDERED


def test_solvers_mind_the_budget(rows):
    model = AutoMultiLabelClassifier(("extra-trees",), members=1, minutes=1e-6, random_state=0).fit(rows.X, rows.Y)
    assert len(model.members_[0][1].predictor_.roots) == TREES_A_PROJECTION


def test_no_trees_on_features_that_are_too_many_for_a_dense_array():
    wide = sparse.csr_matrix(([0.5], ([0], [0])), shape=(2**15, 2**14))
    assert default_methods(wide) == ("binary-relevance", *TRAINED)


def test_an_average_has_the_better_of_two_linear_models(rows):
    counts = sparse.csr_matrix(np.abs(np.rint(rows.X)))
    linear = ("binary-relevance", "binary-relevance-tfidf")
    model = AutoMultiLabelClassifier((*linear, "cross-entropy"), members=1, settings=FAST, random_state=0).fit(counts, rows.Y)
    better = max(linear, key=lambda name: max(model.candidates_[name].values()))
    assert [model.members_[i][0] for i in model.groups_["everything"]] == ["cross-entropy", better]


def test_only_changed_parameters_are_settings_of_members(rows):
    """A parameter at its default would otherwise take the place of what the automatic classifier chooses."""
    parameters = NetworkClassifier("dvn", hidden=16, random_state=3).get_params(deep=False)
    assert changed(parameters) == {"hidden": 16}
    assert changed({**parameters, "rules": 1, "batch_size": 64}) == {"hidden": 16, "rules": 1, "batch_size": 64}


def test_members_have_no_rules_of_their_own(rows):
    model = AutoMultiLabelClassifier(("cross-entropy",), members=1, settings=FAST, random_state=0)
    member = model.fit(rows.X[80:], rows.Y[80:], None, rows.X[:80], rows.Y[:80]).members_[0][1]
    assert set(member.rules_) == {"fixed"}
    assert set(model.rules_) == set(AVERAGEABLE)


def test_energies_try_two_weights_and_go_on_with_the_better_one(rows):
    model = AutoMultiLabelClassifier(("seal-nce",), members=3, settings=FAST, random_state=0)
    model.fit(rows.X[80:], rows.Y[80:], None, rows.X[:80], rows.Y[:80])
    weights = [member.method.predictor_loss.energy_weight for _, member in model.members_]
    alone = [
        max(cross_validate(AVERAGEABLE, member.predict_proba(rows.X[:80]), rows.Y[:80]).scores.values())
        for _, member in model.members_[:2]
    ]
    assert weights == [1.0, 3.0, [1.0, 3.0][int(np.argmax(alone))]]
    given = AutoMultiLabelClassifier(("seal-nce",), members=2, settings={**FAST, "method__energy_weight": 0.5}, random_state=0)
    assert [member.method.predictor_loss.energy_weight for _, member in given.fit(rows.X, rows.Y).members_] == [0.5, 0.5]
    own = AutoMultiLabelClassifier(("seal-nce",), members=3, settings=FAST, random_state=0)
    weights = [member.method.predictor_loss.energy_weight for _, member in own.fit(rows.X, rows.Y).members_]
    assert weights[:2] == [1.0, 3.0]  # a third of the method's own, then all of it, then the better one
    assert weights[2] in (1.0, 3.0)


def test_the_budget_is_kept(rows):
    begin = time.monotonic()
    slow = {**FAST, "max_epochs": 100_000, "n_iter_no_change": 100_000}
    model = AutoMultiLabelClassifier(("cross-entropy", "seal-nce"), members=5, minutes=0.05, settings=slow, random_state=0)
    model.fit(rows.X, rows.Y)
    assert time.monotonic() - begin < 30
    assert [name for name, _ in model.members_] == ["cross-entropy", "seal-nce"]
    assert model.updates_["predictor"] > 0
    assert model.judged_rows_ == 48  # one fold


def test_a_budget_far_exceeded_is_said(rows, caplog):
    """One method is always fitted; the choice comes on top."""
    AutoMultiLabelClassifier(("cross-entropy",), minutes=1e-5, settings=FAST, random_state=0).fit(rows.X, rows.Y)
    assert "The budget of 1e-05 minutes was exceeded" in caplog.text
    caplog.clear()
    AutoMultiLabelClassifier(("binary-relevance",), minutes=5, members=1, random_state=0).fit(rows.X, rows.Y)
    assert "budget" not in caplog.text


@pytest.mark.usefixtures("quick_bases")
def test_label_names_in_and_out(rows, tmp_path):
    names = [[f"l{j}" for j in row.indices] for row in rows.Y]
    model = AutoMultiLabelClassifier(members=1, settings=FAST, random_state=0).fit(rows.X, names)
    assert set(model.predict(rows.X)[0]) <= {f"l{j}" for j in range(16)}
    model.save(tmp_path / "m")
    assert AutoMultiLabelClassifier.load(tmp_path / "m").predict(rows.X) == model.predict(rows.X)


def test_saving(fitted, rows, tmp_path):
    fitted.save(tmp_path / "m", {"a": 1})
    again = AutoMultiLabelClassifier.load(tmp_path / "m")
    assert (again.methods_, list(again.groups_)) == (fitted.methods_, [fitted.chosen_])
    assert np.array_equal(again.predict_proba(rows.X), fitted.predict_proba(rows.X))
    for rule in fitted.rules_:
        assert np.array_equal(again.predict(rows.X, decision=rule).toarray(), fitted.predict(rows.X, decision=rule).toarray())
    assert again.notes_ == {"a": 1}
    assert (again.chosen_, again.candidates_) == (fitted.chosen_, fitted.candidates_)
    assert again.judged_rows_ == fitted.judged_rows_
    assert np.array_equal(again.predict(rows.X, candidate=again.chosen_).toarray(), fitted.predict(rows.X).toarray())
    assert again.get_params() == fitted.get_params()
    with pytest.raises(ModelFileError, match=r"auto\.json"):
        AutoMultiLabelClassifier.load(tmp_path)
    header = (tmp_path / "m" / "auto.json").read_text()
    for damaged in ("{", json.dumps({**json.loads(header), "parameters": []})):
        (tmp_path / "m" / "auto.json").write_text(damaged)
        with pytest.raises(ModelFileError, match=r"damaged|not written by enstruct"):
            AutoMultiLabelClassifier.load(tmp_path / "m")
    (tmp_path / "other").mkdir()
    with pytest.raises(ModelFileError, match="another place"):
        fitted.save(tmp_path / "other")


@pytest.mark.parametrize(
    ("settings", "what"),
    [
        ({"methods": ("seal-nec",)}, "seal-nce"),
        ({"methods": ()}, "distinct"),
        ({"methods": ("mlp", "mlp")}, "distinct"),
        ({"members": 0}, "members"),
        ({"members": 1.5}, "members must be a whole number"),
        ({"folds": 2.5}, "folds must be a whole number"),
        ({"minutes": 0}, "minutes"),
        ({"metric": "f1"}, "example-f1"),
        ({"folds": 1}, "folds"),
        ({"settings": {"hiden": 3}}, "hidden"),
    ],
)
def test_bad_settings(settings, what, rows):
    with pytest.raises(ConfigError, match=what):
        AutoMultiLabelClassifier(**settings).fit(rows.X, rows.Y)


@pytest.mark.usefixtures("quick_bases")
def test_bad_data(rows):
    with pytest.raises(DataError, match="X has 5, y has"):
        AutoMultiLabelClassifier().fit(rows.X[:5], rows.Y)
    for n in (4, 7, 9):
        with pytest.raises(DataError, match="too few for 5 stratified folds"):
            AutoMultiLabelClassifier().fit(rows.X[:n], np.eye(n))
    with pytest.raises(ConfigError, match="both"):
        AutoMultiLabelClassifier().fit(rows.X, rows.Y, X_val=rows.X)
    with pytest.raises(DataError, match="features"):
        AutoMultiLabelClassifier(members=1, settings=FAST).fit(rows.X, rows.Y).predict(rows.X[:, :5])


@pytest.mark.parametrize("y", [np.arange(240) % 2, np.array(["a", "b", "c"])[np.arange(240) % 3]])
@pytest.mark.usefixtures("quick_bases")
def test_one_label_a_row(rows, y, tmp_path):
    X = rows.X + 3.0 * np.unique(y, return_inverse=True)[1][:, None]
    model = AutoMultiLabelClassifier(members=2, settings=FAST, random_state=0).fit(X, y)
    assert model.score(X, y) == np.mean(model.predict(X) == y) > 0.9
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(1), 1)
    assert (model.classes_[p.argmax(1)] == model.predict(X)).all()
    assert model.decision_scores_[model.decision_] == max(max(scores.values()) for scores in model.candidates_.values())
    assert set(model.predict_by_candidate(X)) == set(model.groups_)
    assert (model.predict_by_rule(X)[model.decision_] == model.predict(X)).all()
    with pytest.raises(ConfigError, match="decision"):
        model.predict(X, decision="expected-f1")
    model.save(tmp_path / "m")
    assert np.array_equal(AutoMultiLabelClassifier.load(tmp_path / "m").predict(X), model.predict(X))


def test_a_class_that_a_fold_lacks(rows):
    y = np.where(np.arange(240) < 3, 2, np.arange(240) % 2)
    model = AutoMultiLabelClassifier(("binary-relevance", "cross-entropy"), members=3, folds=3, settings=FAST, random_state=0)
    model.fit(rows.X, y, None, rows.X[3:60], y[3:60])
    assert model.predict_proba(rows.X).shape == (240, 3)
    few = AutoMultiLabelClassifier(("cross-entropy",), settings=FAST, random_state=0).fit(rows.X[:10], y[:10])
    assert set(few.predict(rows.X)) <= {0, 1, 2}


def test_ten_rows_are_no_matter_of_a_minute(rows):
    Y = (rows.X[:10, :2] > np.median(rows.X[:10, :2], axis=0)).astype(int)
    model = AutoMultiLabelClassifier(members=1, random_state=0).fit(rows.X[:10], Y)
    assert model.updates_["predictor"] <= 200


def test_one_label(rows):
    single = [["a"] if row.indices.size and row.indices[0] < 2 else [] for row in rows.Y]
    model = AutoMultiLabelClassifier(("binary-relevance",), members=2, random_state=0).fit(rows.X, single)
    assert {label for found in model.predict(rows.X) for label in found} <= {"a"}


@pytest.mark.usefixtures("quick_bases")
def test_forms_of_rows(rows):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(rows.X, columns=[f"x{i}" for i in range(rows.X.shape[1])])
    made = [
        AutoMultiLabelClassifier(members=1, settings=FAST, random_state=0).fit(X, rows.Y)
        for X in (rows.X, frame, sparse.coo_matrix(rows.X))
    ]
    assert np.array_equal(made[0].predict_proba(rows.X), made[1].predict_proba(frame))
    assert list(made[1].feature_names_in_) == list(frame.columns)
    assert made[2].predict(sparse.coo_matrix(rows.X)).shape == rows.Y.shape
    drawn = AutoMultiLabelClassifier(("binary-relevance",), random_state=np.random.RandomState(0)).fit(rows.X, rows.Y)
    assert drawn.chosen_ == "binary-relevance"


def test_no_copy_of_a_training_row_is_held_out(rows, monkeypatch):
    seen = []

    def keep(self, parts, seed, weighed):
        seen.extend(part() for part in parts)
        raise DataError("enough")

    monkeypatch.setattr(AutoMultiLabelClassifier, "_fit_members", keep)
    with pytest.raises(DataError, match="enough"):
        AutoMultiLabelClassifier(random_state=0).fit(np.vstack([rows.X, rows.X]), sparse.vstack([rows.Y, rows.Y]))
    assert len(seen) == 5
    assert sum(len(held) for _, held in seen) == len(rows)
    for train, held in seen:
        known = {row.tobytes() for row in train.X}
        assert not any(row.tobytes() in known for row in held.X)
        assert len(train) + len(held) == len(rows)


def test_seeds_of_members_go_round(rows):
    """The second member's would be beyond what scikit-learn takes."""
    model = AutoMultiLabelClassifier(("cross-entropy",), members=2, settings=FAST, random_state=2**32 - 1).fit(rows.X, rows.Y)
    assert [member.random_state for _, member in model.members_] == [2**32 - 1, 0]


def test_one_label_that_is_rare(rows):
    for positives in (1, 2, 3):
        Y = np.zeros((len(rows), 1), dtype=int)
        Y[:positives] = 1
        model = AutoMultiLabelClassifier(("binary-relevance",), members=5, random_state=0).fit(rows.X, sparse.csr_matrix(Y))
        assert model.predict(rows.X).shape == Y.shape
        assert len(model.members_) == (4 if positives == 1 else 5)  # without the fold that has the only one


def test_score_before_fit(rows):
    with pytest.raises(NotFittedError):
        AutoMultiLabelClassifier().score(rows.X, rows.Y)


def test_under_rules_a_candidate_answers_by_its_own_probabilities(rows):
    model = AutoMultiLabelClassifier(
        ("binary-relevance", "extra-trees"), members=1, random_state=0, settings={"rules": [Excludes(0, 1), Excludes(2, 3)]}
    ).fit(rows.X, rows.Y)
    for name, sets in model.predict_by_candidate(rows.X).items():
        assert np.array_equal(sets.toarray(), model.predict(rows.X, candidate=name).toarray()), name
