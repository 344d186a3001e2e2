"""Rules in force: no answer of any classifier breaks one, told labels tell what follows, and saving keeps them."""

import itertools

import numpy as np
import pytest
from tests.rules.rule_truth import legal_sets, random_rule

from enstruct import AutoMultiLabelClassifier, EnergyMultiLabelClassifier
from enstruct.errors import ConfigError, DataError
from enstruct.estimators.joint import JointMultiLabelClassifier
from enstruct.estimators.label_format import LabelFormat
from enstruct.estimators.legality import Legality, system_of
from enstruct.rules import AtMost, Exactly, Excludes, Hierarchy, Implies, Requires, RuleSystem, Soft

NAMES = ["a", "b", "c", "d", "e"]
RULES = [Exactly(1, ["a", "b", "c"]), Implies("a", "d"), Requires("e", ["b", "d"])]


def rows(n=160, seed=0):
    """Label sets that keep RULES, which x tells with noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4))
    legal = np.array([y for y in itertools.product((0, 1), repeat=5) if RuleSystem.of(RULES, NAMES).are_kept(np.array([y]))[0]])
    weights = np.random.default_rng(7).standard_normal((4, 5))  # the same for every seed and number of rows
    scores = X @ weights @ (2 * legal.T - 1) + rng.gumbel(size=(n, len(legal)))
    return X, [[name for name, there in zip(NAMES, legal[k], strict=True) if there] for k in scores.argmax(1)]


def indicator(sets):
    return np.array([[name in some for name in NAMES] for some in sets], dtype=float)


def kept(sets):
    return RuleSystem.of(RULES, NAMES).are_kept(indicator(sets)).all()


X, Y = rows()
MODELS = {
    "joint": JointMultiLabelClassifier("binary-relevance", folds=2, rules=RULES, random_state=0),
    "network": EnergyMultiLabelClassifier("cross-entropy", hidden=8, max_epochs=3, rules=RULES, random_state=0),
    "trees": EnergyMultiLabelClassifier("extra-trees", rules=RULES, random_state=0),
    "auto": AutoMultiLabelClassifier(
        methods=["binary-relevance", "cross-entropy"], members=2, settings={"rules": RULES, "max_epochs": 2}, random_state=0
    ),
}


@pytest.fixture(scope="module", params=MODELS)
def model(request):
    return MODELS[request.param].fit(X, Y)


def test_no_answer_breaks_a_rule(model, tmp_path):
    model.save(tmp_path / "m")
    for one in (model, type(model).load(tmp_path / "m")):
        assert kept(one.predict(X))
        assert kept(one.predict(X, top_k=4))
        for chosen in one.predict_by_rule(X).values():
            assert kept(chosen)
        assert one.predict(X) == model.predict(X)
    if hasattr(model, "sample"):
        y = model.sample(X[:20], 10)
        assert RuleSystem.of(RULES, NAMES).are_kept(y.reshape(-1, 5)).all()


def test_marginals_are_those_once_the_rules_hold(model):
    p = model.predict_proba(X)
    np.testing.assert_allclose(p[:, :3].sum(1), 1, atol=0.02)


@pytest.mark.usefixtures("quick_joints", "quick_bases")
def test_told_labels_tell_what_follows():
    model = MODELS["joint"].fit(X, Y)
    known = np.full((len(X), 5), np.nan)
    known[:50, 0] = 1
    p = model.predict_proba(X, known=known)
    np.testing.assert_array_equal(p[:50, :4], np.tile([1, 0, 0, 1], (50, 1)))
    for decision in (None, "subset-accuracy", "example-f1"):
        chosen = model.predict(X, known=known, decision=decision)
        assert kept(chosen)
        assert all({"a", "d"} <= set(some) for some in chosen[:50])
    known[7, 3] = 0
    with pytest.raises(DataError, match="known tells 'a', not 'd' in row 7, which breaks the rule 'a' implies 'd'"):
        model.predict(X, known=known)


@pytest.mark.usefixtures("quick_joints", "quick_bases")
def test_densities_are_over_the_sets_that_keep_the_rules():
    model = MODELS["joint"].fit(X, Y)
    every = np.array(list(itertools.product((0, 1), repeat=5)))
    log_p = np.array([model.log_prob(X[:3], [dict(zip(NAMES, y.tolist(), strict=True))] * 3) for y in every])
    legal = RuleSystem.of(RULES, NAMES).are_kept(every)
    assert np.isneginf(log_p[~legal]).all()
    np.testing.assert_allclose(np.exp(log_p[legal]).sum(0), 1, rtol=1e-4)


@pytest.mark.usefixtures("few_candidates")
def test_an_energy_need_not_learn_what_rules_say():
    """Held-out likelihood: no worse with the rules than without, and better by what legal sets are fewer."""
    with_rules = JointMultiLabelClassifier("binary-relevance", folds=2, rules=RULES, random_state=0).fit(X, Y)
    without = JointMultiLabelClassifier("binary-relevance", folds=2, random_state=0).fit(X, Y)
    X_new, Y_new = rows(300, 1)
    assert with_rules.log_prob(X_new, Y_new).mean() > without.log_prob(X_new, Y_new).mean()
    assert with_rules.likelihoods_["independent"] < without.likelihoods_["independent"] - 0.5


@pytest.mark.usefixtures("quick_joints", "quick_bases")
def test_holes_are_filled_under_the_rules():
    holes = indicator(Y)
    holes[np.random.default_rng(1).random(holes.shape) < 0.3] = np.nan
    holes[np.isnan(holes).all(1), 0] = 1
    holes[(holes[:, 0] == 1) & (holes[:, 3] != 1), 3] = np.nan
    rules = [Exactly(1, [0, 1, 2]), Implies(0, 3), Requires(4, [1, 3])]
    model = JointMultiLabelClassifier("auto", folds=2, minutes=0.05, rules=rules, random_state=0).fit(X, holes)
    assert RuleSystem.of(rules, range(5)).are_kept(model.predict(X)).all()


@pytest.mark.parametrize("method", ["binary-relevance", "cross-entropy"])
def test_rules_that_are_changed_after_fit_are_not_saved(method, tmp_path):
    X, sets = rows(80)
    small = {"hidden": 4, "layers": 1, "max_epochs": 1} if method == "cross-entropy" else {}
    model = EnergyMultiLabelClassifier(method, rules=RULES, **small).fit(X, sets)
    answers = model.predict(X)
    model.set_params(rules=RULES[:1])
    assert model.predict(X) == answers  # by those it was fitted under
    with pytest.raises(ConfigError, match="rules= were changed after fit"):
        model.save(tmp_path / "model")
    model.set_params(rules=tuple(RULES)).save(tmp_path / "model")
    assert EnergyMultiLabelClassifier.load(tmp_path / "model").predict(X) == answers


def test_rules_of_one_class_a_row_are_refused():
    X, _ = rows(40)
    for model in (EnergyMultiLabelClassifier("cross-entropy", rules=RULES), JointMultiLabelClassifier(rules=RULES)):
        with pytest.raises(ConfigError, match="each row of y has one class"):
            model.fit(X, np.array(NAMES)[np.arange(40) % 5])


@pytest.mark.usefixtures("few_candidates")
def test_soft_rules_weigh_and_do_not_bind():
    soft = JointMultiLabelClassifier("binary-relevance", folds=2, rules=Soft(Excludes("a", "d"), 5.0), random_state=0)
    p = soft.fit(X, Y).predict_proba(X)
    plain = JointMultiLabelClassifier("binary-relevance", folds=2, random_state=0).fit(X, Y).predict_proba(X)
    assert p[:, 0].mean() < plain[:, 0].mean()
    known = np.full((len(X), 5), np.nan)
    known[:, [0, 3]] = 1
    assert soft.predict_proba(X, known=known)[0, 3] == 1


@pytest.mark.parametrize(
    ("rules", "error", "message"),
    [
        ([Implies("a", "dd")], ConfigError, "'dd'"),
        ([Implies("a", "b"), Excludes("a", "b"), Exactly(1, ["a"])], ConfigError, "No label set meets these rules together"),
        ([Excludes("a", "d")], DataError, "break the rule 'a', 'd' exclude one another"),
        ([AtMost(9, ["a"])], ConfigError, "between 0 and"),
        ("a -> b", ConfigError, "rules must be a rule of enstruct.rules"),
    ],
)
@pytest.mark.parametrize("name", ["joint", "trees"])
def test_what_cannot_be_is_said_before_training(name, rules, error, message):
    model = type(MODELS[name])(**{**MODELS[name].get_params(deep=False), "rules": rules})
    with pytest.raises(error, match=message):
        model.fit(X, Y)
    assert not hasattr(model, "classes_")


def test_sets_under_a_hierarchy_alone_are_closed_as_others_are():
    rng = np.random.default_rng(0)
    tree = Hierarchy(30, tuple((int(rng.integers(0, i)), i) for i in range(1, 30)))
    legality = Legality.of(RuleSystem.of(tree, range(30)), np.full(30, np.nan))
    chosen = (rng.random((20, 30)) < 0.1).astype(np.uint8)
    closed = legality.closed(chosen)
    np.testing.assert_array_equal(closed.toarray(), legality.sets(chosen, rng.random((20, 30))).toarray())
    assert closed.dtype == np.uint8
    assert Legality.of(RuleSystem.of([tree, Excludes(1, 2)], range(30)), np.full(30, np.nan)).closed(chosen) is None


def test_the_log_says_what_is_approximate(caplog):
    labels = LabelFormat.infer(np.tile(np.eye(20, dtype=int), (2, 1)))
    with caplog.at_level("INFO", logger="enstruct"):
        system_of([AtMost(7, range(20)), Implies(0, 1)], labels)
    assert "Rules tie 20 labels" in caplog.text


def test_a_rule_that_the_first_pass_breaks_often_is_refused():
    model = EnergyMultiLabelClassifier("cross-entropy", hidden=8, rules=Excludes("b", "d"), random_state=0)
    both = [["b", "d"], ["a"]] * 20
    with pytest.raises(DataError, match=r"20 of the .* rows that it is about break the rule 'b', 'd' exclude one another"):
        model.partial_fit(X[:40], both, classes=NAMES)
    assert not hasattr(model, "predictor_")


@pytest.mark.usefixtures("quick_joints", "quick_bases")
@pytest.mark.parametrize("kind", ["joint", "network"])
def test_random_systems_of_rules_bind_every_answer(kind):
    """Put in force on fitted classifiers, one after another: decisions, told labels and samples, against all sets that keep
    them as they read."""
    rng, outputs = np.random.default_rng(0), 0
    y = np.array(indicator(Y), dtype=int)
    plain = {
        "joint": JointMultiLabelClassifier("binary-relevance", folds=2, random_state=0),
        "network": EnergyMultiLabelClassifier("cross-entropy", hidden=8, max_epochs=3, random_state=0),
    }[kind].fit(X, y)
    few = X[:8]
    for _ in range(150):
        rules = [random_rule(rng, 5) for _ in range(rng.integers(1, 4))]
        rules += [Soft(random_rule(rng, 5), 1.0)] if rng.random() < 0.3 else []
        legal = legal_sets([rule for rule in rules if not isinstance(rule, Soft)], 5)
        try:
            system = RuleSystem.of(rules, list(range(5)))
        except ConfigError:  # no set meets one of them alone
            continue
        if not len(legal):
            continue
        plain.legality_ = Legality.of(system, np.full(5, np.nan))
        told = np.where(rng.random((8, 5)) < 0.4, legal[rng.integers(len(legal), size=8)], np.nan)
        answers = [np.asarray(plain.predict(few, decision=rule)) for rule in plain.rules_]
        if kind == "joint":
            known = np.asarray(plain.predict(few, known=told))
            np.testing.assert_array_equal(known[~np.isnan(told)], told[~np.isnan(told)])
            answers += [known, *plain.sample(few, 4, random_state=1).transpose(1, 0, 2)]
            answers += [*plain.sample(few, 4, known=told, random_state=1).transpose(1, 0, 2)]
        possible = {tuple(row) for row in legal}
        for answer in answers:
            dense = answer.toarray() if hasattr(answer, "toarray") else answer
            assert all(tuple(int(one) for one in row) in possible for row in dense), rules
            outputs += len(dense)
    assert outputs > (10_000 if kind == "joint" else 3_000)
