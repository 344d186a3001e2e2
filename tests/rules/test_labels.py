"""Every kind of rule against its meaning, said a second time set by set (``rule_truth``), and in words."""

import numpy as np
import pytest
from tests.rules.rule_truth import legal_sets, random_rule

from enstruct.errors import ConfigError
from enstruct.rules import (
    AtLeast,
    AtMost,
    Exactly,
    Excludes,
    Forbids,
    Hierarchy,
    Implies,
    Not,
    Requires,
    RuleSystem,
    Soft,
    predicate,
)
from enstruct.rules.labels import inequalities_of

RULES = [
    Implies(0, 1),
    Implies((0, Not(1)), (2, Not(3))),
    Excludes(0, 1, 2),
    AtMost(2, [0, 1, 2, 3]),
    AtLeast(2, [0, 1, Not(3)]),
    Exactly(1, [0, 1, 2]),
    Exactly(0, [0, 1]),
    Requires(0, [1, Not(2)]),
    Requires(Not(0), [1]),
    Forbids((0, 2), ((0,), ())),
    Hierarchy(4, ((0, 1), (1, 2))),
]


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_inequalities_are_kept_by_the_sets_that_keep_the_rule(rule):
    every = legal_sets([], 4)
    kept = every[RuleSystem.of(rule, range(4)).are_kept(every)]
    np.testing.assert_array_equal(kept, legal_sets([rule], 4))
    assert 0 < len(kept) < len(every)


def test_a_predicate_is_tried_on_every_set():
    rule = predicate(lambda some: len(some) != 2, ["a", "b", "c"], "not two")
    assert len(RuleSystem.of(rule, ["a", "b", "c", "d"]).inequalities) == 3
    assert str(rule) == "not two"
    np.testing.assert_array_equal(RuleSystem.of(rule, ["a", "b", "c"]).are_kept(legal_sets([], 3)), legal_sets([], 3).sum(1) != 2)
    with pytest.raises(ConfigError, match="1 to 10 labels"):
        predicate(bool, range(11))


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (Implies("a", "b"), "'a' implies 'b'"),
        (Implies(["a", Not("c")], "b"), "'a' and not 'c' together imply 'b'"),
        (Excludes("a", "b"), "'a', 'b' exclude one another"),
        (Exactly(1, ["a", "b"]), "exactly 1 of 'a', 'b'"),
        (Requires("a", ["b", "c"]), "'a' requires any of 'b', 'c'"),
        (Forbids(("a", "b"), (("a",),)), "of 'a', 'b' not {'a'}"),
        (Soft(AtMost(1, ["a", "b"]), 2.5), "2.5 nats: at most 1 of 'a', 'b'"),
    ],
)
def test_words(rule, words):
    assert str(rule) == words


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (Implies("a", "sae"), "'sea'"),
        (Implies("a", "a"), "twice"),
        (Excludes("a"), "2 labels at least"),
        (AtMost(3, ["a", "sea"]), "between 0 and"),
        (AtMost(True, ["a", "sea"]), "between 0 and"),
        (Exactly(-1, ["a", "sea"]), "between 0 and"),
        (Exactly(1, []), "1 label at least"),
        (Implies("a", ()), r"Implies\('a', \(\)\) needs a label on either side"),
        (Implies((), "a"), "needs a label on either side"),
        (Requires("a", []), r"Requires\('a', \[\]\) needs labels of which there is one"),
        (Forbids(("a",), (("sea",),)), "none of its labels"),
        (Hierarchy(3, ()), "hierarchy of 3 labels"),
        ("a -> sea", "rules of enstruct.rules"),
        (AtLeast(1, [["a"]]), "label in the rule"),
    ],
)
def test_what_is_no_rule_is_refused(rule, message):
    with pytest.raises(ConfigError, match=message):
        RuleSystem.of([rule], ["a", "sea"])


@pytest.mark.parametrize("weight", [0, -1, float("inf"), float("nan"), "2"])
def test_soft_rules_need_a_weight(weight):
    with pytest.raises(ConfigError, match="weight in nats"):
        Soft(Excludes("a", "b"), weight)


def test_soft_takes_a_rule_that_is_not_soft():
    with pytest.raises(ConfigError, match="not soft"):
        Soft(Soft(Excludes("a", "b"), 1.0), 1.0)
    with pytest.raises(ConfigError, match="over labels, not Soft"):
        RuleSystem.of(Soft("a -> b", 1.0), ["a", "b"])


def test_random_rules_mean_what_they_say():
    rng = np.random.default_rng(0)
    every = legal_sets([], 6)
    for _ in range(200):
        rule = random_rule(rng, 6)
        np.testing.assert_array_equal(every[RuleSystem.of(rule, range(6)).are_kept(every)], legal_sets([rule], 6), str(rule))


def test_a_predicate_that_fails_or_answers_nothing_is_named():
    with pytest.raises(ConfigError, match=r"predicate 'half' of \{\} raised ZeroDivisionError"):
        predicate(lambda some: 1 / len(some) > 0, ["a", "b"], "half")
    with pytest.raises(ConfigError, match="must be True or False, not None: does the function return"):
        predicate(lambda some: None, ["a"])


def test_numbers_of_numpy_are_numbers():
    number = {name: i for i, name in enumerate("ab")}.__getitem__
    for make in (AtMost, AtLeast, Exactly):
        assert inequalities_of(make(np.int64(1), ["a", "b"]), number) == inequalities_of(make(1, ["a", "b"]), number)
    assert Soft(Excludes("a", "b"), np.int64(2)).weight == 2
    with pytest.raises(ConfigError, match="a whole number between 0 and 2"):
        inequalities_of(AtMost(True, ["a", "b"]), number)
