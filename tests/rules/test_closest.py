"""Best legal sets against enumeration: thousands of random systems of rules."""

import numpy as np
import pytest
from tests.rules.rule_truth import holds, legal_sets, random_rule

from enstruct.errors import DataError
from enstruct.rules import AtLeast, AtMost, Exactly, Excludes, Hierarchy, Implies, RuleSystem, Soft, closest, states
from enstruct.rules import system as systems
from enstruct.rules.closest import best, nearest
from enstruct.rules.follow import follow


def random_system(rng):
    n_labels = int(rng.integers(2, 8))
    rules = [random_rule(rng, n_labels) for _ in range(rng.integers(1, 5))]
    return RuleSystem.of(rules, range(n_labels)), legal_sets(rules, n_labels)


def told_of(rng, n_labels):
    return np.where(rng.random((1, n_labels)) < 0.4, rng.integers(0, 2, (1, n_labels)), np.nan)


def check_system(rng):
    """Of one random system: nothing breaks a rule, and the best is the enumerated best, with and without told labels."""
    system, sets = random_system(rng)
    if not len(sets):
        return
    n_labels = system.n_labels
    scores = rng.normal(size=(2, n_labels))
    chosen = best(system, scores)
    np.testing.assert_allclose((chosen * scores).sum(1), (scores @ sets.T).max(1))
    legal = {tuple(one) for one in sets}
    assert {tuple(one) for one in chosen} <= legal
    p = rng.random((2, n_labels))
    cut = (p > rng.random()).astype(np.uint8)
    assert {tuple(one) for one in nearest(system, cut, p)} <= legal
    known = told_of(rng, n_labels)
    fits = sets[(np.isnan(known[0]) | (sets == known[0])).all(1)]
    if not len(fits):
        with pytest.raises(DataError):
            best(system, scores[:1], known)
        return
    np.testing.assert_allclose((best(system, scores[:1], known) * scores[0]).sum(), (fits @ scores[0]).max())
    assert (fits == nearest(system, cut[:1], p[:1], known)).all(1).any()
    followed = follow(system, known)[0]
    assert (np.isnan(followed) | (followed == fits)).all()


@pytest.mark.parametrize("seed", range(20))
def test_no_answer_breaks_a_rule_and_the_best_is_the_best_of_all(seed):
    rng = np.random.default_rng(seed)
    for _ in range(150):
        check_system(rng)


@pytest.mark.parametrize("seed", range(10))
def test_integer_programs_answer_as_listed_sets_do(seed, monkeypatch):
    monkeypatch.setattr(systems, "legal_states", lambda A, least: states.legal_states(A, least, 0))
    rng = np.random.default_rng([seed, 1])
    for _ in range(100):
        check_system(rng)


@pytest.mark.parametrize("most", [0, 4096])
def test_soft_rules_cost_their_weight(most, monkeypatch):
    monkeypatch.setattr(systems, "legal_states", lambda A, least: states.legal_states(A, least, most))
    rng = np.random.default_rng(5)
    for _ in range(100):
        soft, hard = [random_rule(rng, 5) for _ in range(2)], random_rule(rng, 5)
        soft = [rule for rule in soft if len(RuleSystem.of(rule, range(5)).inequalities) == 1]
        sets = legal_sets([hard], 5)
        if not len(sets):
            continue
        weights = rng.uniform(0.2, 2, len(soft))
        system = RuleSystem.of([hard, *map(Soft, soft, weights)], range(5))
        scores = rng.normal(size=(3, 5))
        cost = np.array([[not holds(rule, tuple(y)) for rule in soft] for y in sets]).reshape(len(sets), -1) @ weights
        chosen = best(system, scores)
        place = [int(np.flatnonzero((sets == one).all(1))[0]) for one in chosen]
        np.testing.assert_allclose((chosen * scores).sum(1) - cost[place], (scores @ sets.T - cost).max(1))


def test_sets_that_keep_the_rules_stay_as_they_are():
    system = RuleSystem.of(Excludes(0, 1), range(3))
    chosen = np.array([[1, 0, 1], [1, 1, 0]], dtype=np.uint8)
    p = np.array([[0.1, 0.9, 0.2], [0.8, 0.6, 0.1]])
    np.testing.assert_array_equal(nearest(system, chosen, p), [[1, 0, 1], [1, 0, 0]])


def test_what_is_implied_is_added():
    system = RuleSystem.of([Hierarchy(4, ((0, 1), (1, 2))), Implies(3, 0)], range(4))
    p = np.tile([0.01, 0.01, 0.9, 0.01], (2, 1))
    chosen = np.array([[0, 0, 1, 0], [0, 0, 0, 1]])
    np.testing.assert_array_equal(nearest(system, chosen, p), [[1, 1, 1, 0], [1, 0, 0, 1]])
    told = np.array([[np.nan, 0, np.nan, np.nan], [np.nan] * 4])
    np.testing.assert_array_equal(nearest(system, chosen, p, told), [[0, 0, 0, 0], [1, 0, 0, 1]])


def test_a_large_group_is_solved_exactly():
    """At most 10 of 60: the 10 best of positive score."""
    from enstruct.rules import AtMost

    scores = np.random.default_rng(0).normal(size=(5, 60))
    system = RuleSystem.of(AtMost(10, range(60)), range(60))
    assert not system.groups[0].listed
    expected = np.sort(np.maximum(scores, 0), 1)[:, -10:].sum(1)
    np.testing.assert_allclose((best(system, scores) * scores).sum(1), expected)


@pytest.mark.parametrize(
    "rules", [AtMost(3, range(60)), AtLeast(40, range(60)), Exactly(20, range(60))], ids=["most", "least", "exactly"]
)
def test_rules_that_count_alone_are_solved_by_the_order_of_scores(rules, monkeypatch):
    """As by an integer program, told labels among them."""
    rng = np.random.default_rng(0)
    system = RuleSystem.of(rules, range(60))
    assert not system.groups[0].listed
    scores = rng.normal(size=(40, 60))
    known = np.where(rng.random((40, 60)) < 0.04, rng.integers(0, 2, (40, 60)), np.nan)
    known[(known == 1).sum(1) > 3] = np.nan
    found = best(system, scores, known)
    too_many = np.where(np.arange(60) < 58, float(isinstance(rules, AtMost)), np.nan)[None]
    with pytest.raises(DataError, match="in row 0, which breaks the rule"):
        best(system, scores[:1], too_many)
    monkeypatch.setattr(closest, "_bounds", lambda system, group: None)
    np.testing.assert_array_equal(found, best(system, scores, known))


def test_the_nearest_set_is_the_cheapest_change():
    """What a label costs: how far its marginal lies from halfway between the lowest taken and the highest left out."""
    rules = [Excludes(0, 1, 2), AtLeast(1, [3, 4])]
    system, sets = RuleSystem.of(rules, range(5)), legal_sets(rules, 5)
    p = np.random.default_rng(0).random((300, 5))
    chosen = (p > 0.45).astype(np.uint8)
    broken = np.flatnonzero(~system.are_kept(chosen) & chosen.any(1) & ~chosen.all(1))
    assert len(broken) > 50
    for row, answer in zip(broken, nearest(system, chosen[broken], p[broken]), strict=True):
        y = chosen[row] == 1
        away = abs(p[row] - (p[row][y].min() + p[row][~y].max()) / 2)
        assert ((answer != chosen[row]) @ away) <= ((sets != chosen[row]) @ away).min() + 5 * closest.LEAST


def test_a_program_without_answer_names_row_told_labels_and_rules():
    """No two of three, among so many labels that sets are not listed: that two are missing is seen by no rule alone."""
    rules = [Excludes(0, 1), Excludes(1, 2), Excludes(0, 2), AtLeast(2, [0, 1, 2, 3]), AtMost(30, range(60))]
    known = np.full((2, 60), np.nan)
    known[1, [3, 7]] = 0, 1
    message = r"told of row 1 \(not 3, 7\) leaves no label set that keeps 0, 1 exclude one another; .* \(and 2 more\): tell less"
    with pytest.raises(DataError, match=message) as found:
        best(RuleSystem.of(rules, range(60)), np.zeros((2, 60)), known)
    assert len(str(found.value)) < 300
