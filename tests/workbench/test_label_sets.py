"""Label sets at the workbench: what is told moves the rest as the joint says."""

import numpy as np
import pytest

from enstruct.errors import ConfigError, DataError
from enstruct.rules import Implies, RuleSystem
from enstruct.workbench.contents import Contents
from enstruct.workbench.label_sets import LabelSets
from enstruct.workbench.written import Written

NAMES = ["calm", "drums", "guitar", "happy", "piano", "sad"]


@pytest.fixture
def sets(data, model):
    return LabelSets(NAMES, data.X, Contents(data), None, Written("new.csv", lambda: data), model)


def test_answers_are_the_joint_s(sets, data, model):
    for cells in ({}, {"sad": True}, {"sad": True, "drums": False}):
        told = model.predict_proba(data.X[[3]], known=[cells])[0]
        answers = sets.answers(3, cells, {})
        np.testing.assert_allclose(answers["p"], told, atol=1e-4)
        assert answers["shown"] == [bool(cells.get(name, p >= 0.5)) for name, p in zip(NAMES, answers["p"], strict=True)]


def test_what_was_read_counts_as_told_for_the_others(sets, data, model):
    read = {"drums": False, "piano": True}
    np.testing.assert_allclose(
        sets.answers(3, {"sad": True}, read)["p"], model.predict_proba(data.X[[3]], known=[{"sad": True, **read}])[0], atol=1e-4
    )
    # what was read gives way where a rule forbids it beside what is told
    np.testing.assert_allclose(sets.answers(3, {"sad": True}, {"calm": True})["p"], sets.answers(3, {"sad": True}, {})["p"])


def test_rules_act_and_are_named(sets):
    answers = sets.answers(0, {"happy": True}, {})
    assert answers["p"][2] == 1
    assert answers["shown"][2]
    assert "guitar" in answers["follows"]
    assert "happy" in answers["follows"]["guitar"]
    with pytest.raises(DataError, match="breaks the rule"):
        sets.check(0, {"guitar": False}, {"happy": True, "guitar": False}, False)
    assert any("calm" in words for words in sets.describe()["rules"])


def test_the_question_is_what_ask_asks(sets, data, model):
    assert sets.question(1, {}, {}) == model.ask(data.X[[1]])[0]
    assert sets.question(1, dict.fromkeys(NAMES, False), {}) is None


def test_without_a_model_rules_act_alone(data):
    system = RuleSystem.of([Implies("a", "b")], ["a", "b"])
    sets = LabelSets(["a", "b"], data.X, Contents(data), None, Written("new.csv", lambda: data), rules=system)
    assert sets.answers(0, {"a": True}, {}) == {"p": None, "shown": [True, True], "follows": {"b": "'a' implies 'b'"}}
    assert sets.question(0, {}, {}) is None
    assert sets.uncertainty(np.arange(3)) is None


def test_what_the_data_tell_is_told(data, model):
    told = np.full((30, 6), np.nan)
    told[2, 0] = 1
    sets = LabelSets(NAMES, data.X, Contents(data), told, Written("new.csv", lambda: data), model)
    assert sets.given(2) == {"calm": True}
    assert sets.answers(2, {}, {})["shown"][0]
    with pytest.raises(DataError, match="breaks the rule"):
        sets.check(2, {"sad": True}, {**sets.given(2), "sad": True}, False)
    table = sets.told_table({2: {"calm": False}, 3: {"sad": True}})
    assert table[2, 0] == 0
    assert table[3, 5] == 1
    assert np.isnan(table[4]).all()


@pytest.mark.parametrize(
    ("cells", "done", "message"),
    [
        ({"clam": True}, False, "Did you mean 'calm'"),
        ({"calm": 1}, False, "true, false or null"),
        ({"calm": True}, True, "once all its"),
    ],
)
def test_what_cannot_be_told(sets, cells, done, message):
    with pytest.raises((DataError, ConfigError), match=message):
        sets.check(0, cells, cells if "clam" not in cells else {}, done)


def entropy(p):
    q = np.clip(p, 1e-12, 1 - 1e-12)
    return -(q * np.log(q) + (1 - q) * np.log(1 - q))


def test_uncertainty_of_one_model_is_the_entropies_summed(sets, data, model):
    expected = entropy(model.predict_proba(data.X[:4])).sum(1)
    np.testing.assert_allclose(sets.uncertainty(np.arange(4)), expected, rtol=1e-4)


def test_uncertainty_of_several_is_what_they_differ_by():
    """The mutual information of a label and which model is asked, by its definition."""
    from tests.generated_songs import songs

    from enstruct import JointMultiLabelClassifier
    from enstruct.workbench.label_sets import uncertainty_of

    X, Y = songs(60)
    joint = JointMultiLabelClassifier("binary-relevance", folds=3, n_iter_no_change=1, random_state=0).fit(X, Y)
    (fitted,) = joint.base_
    members = np.stack([fitted.base.marginals(one, X[:5].astype(np.float32)) for one in fitted.models])
    assert len(members) == 3
    expected = (entropy(members.mean(0)) - entropy(members).mean(0)).sum(1)
    np.testing.assert_allclose(uncertainty_of(joint, X[:5]), expected, rtol=1e-3, atol=1e-6)
    assert (joint.disagreement(X[:5]) > 0).all()


def test_labels_that_training_never_saw_can_be_told():
    """They say nothing of the others, and come back as told."""
    from sklearn.linear_model import LogisticRegression

    from enstruct import JointMultiLabelClassifier
    from enstruct.data.dataset import Dataset
    from enstruct.data.rows import as_indicator

    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    Y = np.column_stack([X[:, 0] > 0, X[:, 1] > 0, np.zeros(40)])
    joint = JointMultiLabelClassifier(LogisticRegression(), folds=2, random_state=0).fit(X, Y)
    few = Dataset(X, as_indicator(Y), ("a", "b"), ("x", "y", "z"))
    sets = LabelSets(["x", "y", "z"], X, Contents(few), None, Written("a", lambda: few), joint)
    answers = sets.answers(0, {"z": True}, {})
    assert answers["p"][2] == 1
    np.testing.assert_allclose(answers["p"][:2], sets.answers(0, {}, {})["p"][:2], atol=0.05)
