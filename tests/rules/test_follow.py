import numpy as np
import pytest
from tests.rules.rule_truth import legal_sets, random_rule

from enstruct.errors import DataError
from enstruct.rules import AtLeast, AtMost, Exactly, Excludes, Hierarchy, Implies, RuleSystem
from enstruct.rules.follow import follow

nan = np.nan


def test_what_follows_is_what_all_agreeing_sets_have():
    rng = np.random.default_rng(0)
    for _ in range(300):
        rules = [random_rule(rng, 5) for _ in range(3)]
        system, sets = RuleSystem.of(rules, range(5)), legal_sets(rules, 5)
        known = np.where(rng.random((1, 5)) < 0.3, rng.integers(0, 2, (1, 5)), nan)
        fits = sets[(np.isnan(known[0]) | (sets == known[0])).all(1)]
        if not len(sets):
            continue
        if not len(fits):
            with pytest.raises(DataError, match=r"known tells .* in row 0"):
                follow(system, known)
            continue
        share = fits.mean(0)
        expected = np.where((share == 0) | (share == 1), share, nan)
        np.testing.assert_array_equal(follow(system, known)[0], expected)


def test_chains_of_rules_are_followed_without_listed_sets():
    """A hierarchy of 300 labels, one below the other: too many sets to list."""
    n = 300
    system = RuleSystem.of(Hierarchy(n, tuple((i, i + 1) for i in range(n - 1))), range(n))
    known = np.full((2, n), nan)
    known[0, 100], known[1, 100] = 1, 0
    told = follow(system, known)
    assert told[0, :101].tolist() == [1] * 101
    assert np.isnan(told[0, 101:]).all()
    assert told[1, 100:].tolist() == [0] * 200


def test_contradictions_name_row_labels_and_rule():
    names = ["sea", "beach", "snow", "x"]
    system = RuleSystem.of([Implies("beach", "sea"), Excludes("sea", "snow")], names)
    known = np.array([[1, 1, 0, 0], [nan, 1, 1, 1]])
    with pytest.raises(DataError, match="known tells 'beach', 'snow' in row 1, which breaks the rule '"):
        follow(system, known)


def test_contradictions_beyond_propagation_are_found():
    """Two of three must be there, and no two together."""
    system = RuleSystem.of([AtLeast(1, [0, 1]), Exactly(1, [1, 2]), Exactly(1, [0, 2])], range(3))
    with pytest.raises(DataError, match="row 0"):
        follow(system, np.array([[nan, nan, 1.0]]))
    np.testing.assert_array_equal(follow(system, np.array([[1.0, nan, nan]])), [[1, 1, 0]])


def test_long_names_leave_the_rule_readable():
    names = [f"Metabolism of amino acids number {i}" for i in range(8)]
    system = RuleSystem.of(AtMost(3, names), names)
    with pytest.raises(DataError, match=r"in row 0, which breaks the rule at most 3 of 'Metabolism") as found:
        follow(system, np.ones((1, 8)))
    assert len(str(found.value)) < 300
    assert str(found.value).endswith(": mend one of them.")
