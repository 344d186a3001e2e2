import numpy as np
import pytest
from scipy import sparse

from enstruct.errors import DataError
from enstruct.rules import AtMost, Exactly, Excludes, Hierarchy, Implies, RuleSystem, Soft

NAMES = ["a", "b", "c", "d", "e"]


def test_groups_are_labels_that_rules_tie_together():
    system = RuleSystem.of([Implies("a", "b"), Soft(Excludes("b", "d"), 1.5), Exactly(1, ["e"])], NAMES)
    first, second = sorted(system.groups, key=lambda group: group.labels[0])
    assert first.labels.tolist() == [0, 1, 3]
    assert second.labels.tolist() == [4]
    assert len(first.states) == 6
    np.testing.assert_array_equal(first.penalty, 1.5 * (first.states[:, 1] & first.states[:, 2]))
    np.testing.assert_array_equal(second.states, [[1]])


def test_holes_break_nothing_that_may_still_be_met():
    system = RuleSystem.of([Implies("a", "b"), AtMost(1, ["c", "d", "e"])], NAMES)
    nan = np.nan
    Y = np.array([[1, nan, 0, 0, 0], [1, 0, nan, nan, nan], [0, 0, 1, 1, nan], [nan, 0, 1, nan, nan]])
    np.testing.assert_array_equal(system.broken(Y), [[0, 0], [1, 0], [0, 1], [0, 0]])
    np.testing.assert_array_equal(system.are_kept(Y), [True, False, False, True])
    whole = np.array([[1, 1, 0, 0, 1], [1, 0, 1, 1, 0]])
    np.testing.assert_array_equal(system.broken(sparse.csr_matrix(whole)), system.broken(whole))


def test_counts_say_how_often_a_rule_is_broken_where_it_matters():
    Y = np.array([[1, 1, 0], [1, 0, 0], [0, 0, 1], [0, 0, 0]])
    system = RuleSystem.of([Implies("a", "b"), Exactly(1, ["a", "c"])], NAMES[:3])
    assert system.counts(Y) == [("'a' implies 'b'", 1, 2), ("exactly 1 of 'a', 'c'", 1, 4)]


def test_a_rule_that_rows_break_often_is_refused_unless_soft():
    Y = np.array([[1, 0]] * 3 + [[1, 1]] * 27)
    RuleSystem.of(Soft(Implies("a", "b"), 1.0), NAMES[:2]).check_rows(Y)
    with pytest.raises(DataError, match=r"3 of the 30 training rows .* 'a' implies 'b'.*Soft"):
        RuleSystem.of(Implies("a", "b"), NAMES[:2]).check_rows(Y)
    RuleSystem.of(Implies("a", "b"), NAMES[:2]).check_rows(Y[2:])  # one row in 28


def test_labels_that_never_vary_are_folded_into_the_rules():
    system = RuleSystem.of([Implies("a", "b"), AtMost(2, ["b", "c", "d"]), Implies("e", "a")], NAMES)
    few = system.among(np.array([0, 2, 3]), np.array([np.nan, 1, np.nan, np.nan, 0]))
    assert few.names == ("a", "c", "d")
    (left,) = few.inequalities  # b is always there and e never
    assert left.words(few.names) == "'c', 'd' exclude one another"
    with pytest.raises(DataError, match=r"'a' implies 'b' cannot be met.*'b'"):
        RuleSystem.of([Implies("a", "b")], NAMES[:2]).among(np.array([], dtype=int), np.array([1.0, 0.0]))


def test_implied_holds_groups_of_implications_alone():
    system = RuleSystem.of([Hierarchy(5, ((0, 1), (1, 2))), Excludes("d", "e"), Implies("d", "e")], NAMES)
    assert set(zip(*system.implied.nonzero(), strict=True)) == {(1, 0), (2, 1)}


def test_a_cycle_of_a_hierarchy_is_refused():
    with pytest.raises(DataError, match="cycle"):
        RuleSystem.of(Hierarchy(2, ((0, 1), (1, 0))), NAMES[:2])


def test_closure_has_all_that_labels_imply():
    system = RuleSystem.of([Hierarchy(5, ((0, 1), (1, 2), (2, 3), (0, 4))), Soft(Excludes("a", "b"), 1.0)], NAMES)
    assert system.only_hierarchies
    expected = np.eye(5)
    expected[1, 0] = expected[2, :2] = expected[3, :3] = expected[4, 0] = 1
    np.testing.assert_array_equal(system.closure.toarray(), expected)
    assert not RuleSystem.of([Hierarchy(5, ((0, 1),)), Excludes("c", "d")], NAMES).only_hierarchies


def test_what_is_approximate_is_said_where_legal_sets_are_too_many_to_list():
    tied = [Exactly(7, range(20)), Implies(0, 1)]
    assert RuleSystem.of(tied, range(20)).approximations.startswith("Rules tie 20 labels")
    assert RuleSystem.of([Soft(rule, 1.0) for rule in tied], range(20)).approximations.startswith("Rules tie 20 labels")
    assert RuleSystem.of(tied[0], range(20)).approximations is None  # which only counts them
    assert RuleSystem.of([Exactly(1, range(20)), Soft(AtMost(9, range(20)), 1.0)], range(20)).approximations is None
    assert RuleSystem.of(Soft(AtMost(9, range(20)), 1.0), range(20)).approximations is None
