from itertools import combinations, pairwise

import numpy as np
import pytest
from tests.rules.rule_truth import legal_sets, random_rule

from enstruct.errors import ConfigError
from enstruct.rules import AtLeast, AtMost, Exactly, Excludes, Hierarchy, Implies, RuleSystem, Soft, predicate
from enstruct.rules.contradictions import check_possible, smallest_contradiction


@pytest.mark.parametrize("seed", range(6))
def test_the_smallest_contradiction_is_the_smallest_of_all_subsets(seed):
    rng, found = np.random.default_rng(seed), 0
    while found < 15:
        rules = [random_rule(rng, 4) for _ in range(5)]
        rules = [rule for rule in rules if not isinstance(rule, Hierarchy)]
        if len(legal_sets(rules, 4)):
            continue
        found += 1
        system = RuleSystem.of(rules, range(4))
        named = [rules[system.owner[k]] for k in smallest_contradiction(system)]
        assert not len(legal_sets(named, 4))
        fewer = (few for n in range(len(named)) for few in combinations(rules, n))
        assert all(len(legal_sets(few, 4)) for few in fewer)


def test_possible_rules_have_none():
    system = RuleSystem.of([Implies("a", "b"), Soft(Exactly(1, ["a", "b"]), 1.0), Excludes("a", "c")], "abc")
    assert smallest_contradiction(system) == []
    check_possible(system)


def test_the_message_names_them():
    rules = [Implies("a", "b"), AtLeast(1, ["a", "c"]), Excludes("a", "b"), Exactly(0, ["c"]), Implies("d", "a")]
    with pytest.raises(ConfigError, match="No label set meets these rules together: 'a' implies 'b'; at least 1 of 'a', 'c'; "):
        check_possible(RuleSystem.of(rules, "abcd"))
    with pytest.raises(ConfigError, match="No label set meets this rule: nothing is allowed"):
        check_possible(RuleSystem.of(predicate(lambda some: False, ["a", "b"], "nothing is allowed"), "abc"))


def test_long_chains_show_where_they_begin_and_what_they_run_into():
    labels = [f"label {k}" for k in range(9)]
    chain = [Implies(one, other) for one, other in pairwise(labels)]
    with pytest.raises(ConfigError) as error:
        check_possible(RuleSystem.of([AtLeast(1, [labels[0]]), *chain, Exactly(0, [labels[8]])], labels))
    assert "at least 1 of 'label 0'; 'label 0' implies 'label 1'; 6 more; 'label 7'" in str(error.value)
    assert "exactly 0 of 'label 8'. Drop" in str(error.value)
    assert len(str(error.value)) <= 300


def test_preferences_alone_are_always_possible():
    """Of labels too many to list, too."""
    check_possible(RuleSystem.of(Soft(AtMost(3, range(13)), 1.0), range(13)))


def test_edges_of_a_hierarchy_are_rules_of_their_own():
    system = RuleSystem.of([Hierarchy(4, ((0, 1), (1, 2), (0, 3))), AtLeast(1, ["c"]), Exactly(0, ["a"])], "abcd")
    with pytest.raises(ConfigError, match="'b' implies 'a'; 'c' implies 'b'; at least 1 of 'c'; exactly 0 of 'a'"):
        check_possible(system)
