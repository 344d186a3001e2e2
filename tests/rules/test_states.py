import numpy as np
from tests.rules.rule_truth import legal_sets, random_rule

from enstruct.rules import Exactly, RuleSystem
from enstruct.rules.states import legal_states


def test_states_are_all_sets_that_keep_the_rules():
    rng = np.random.default_rng(0)
    for _ in range(200):
        rules = [random_rule(rng, 6) for _ in range(3)]
        system = RuleSystem.of(rules, range(6))
        states = legal_states(system.matrix.toarray(), system.least)
        expected = legal_sets(rules, 6)
        np.testing.assert_array_equal(states[np.lexsort(states.T[::-1])], expected)


def test_many_labels_with_few_legal_sets_are_listed():
    (group,) = RuleSystem.of(Exactly(1, range(200)), range(200)).groups
    np.testing.assert_array_equal(group.states[np.argsort(group.states.argmax(1))], np.eye(200))


def test_too_many_sets_are_not_listed():
    (group,) = RuleSystem.of(Exactly(6, range(20)), range(20)).groups
    assert not group.listed
