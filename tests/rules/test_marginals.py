import numpy as np
from tests.rules.rule_truth import legal_sets, random_rule

from enstruct.data.hierarchy import Hierarchy
from enstruct.rules import Exactly, Excludes, RuleSystem, Soft
from enstruct.rules.marginals import legal_marginals


def test_they_are_those_of_independent_labels_among_legal_sets():
    rng = np.random.default_rng(0)
    for _ in range(100):
        rules = [random_rule(rng, 5) for _ in range(2)]
        sets, system = legal_sets(rules, 5), RuleSystem.of(rules, range(5))
        if not len(sets) or any(group.is_hierarchy for group in system.groups):
            continue
        p = rng.uniform(0.05, 0.95, (3, 5))
        weight = np.exp(np.log(p) @ sets.T + np.log(1 - p) @ (1 - sets.T))
        np.testing.assert_allclose(legal_marginals(system, p), weight @ sets / weight.sum(1, keepdims=True), rtol=1e-5)


def test_soft_rules_weigh():
    p = np.array([[0.5, 0.5, 0.3]])
    q = legal_marginals(RuleSystem.of(Soft(Excludes(0, 1), 2.0), range(3)), p)
    both = 0.25 * np.exp(-2)
    np.testing.assert_allclose(q, [[(0.25 + both) / (0.75 + both), (0.25 + both) / (0.75 + both), 0.3]])


def test_hierarchies_raise_what_is_above():
    rng = np.random.default_rng(0)
    tree = Hierarchy(12, tuple((i // 2, i) for i in range(1, 12)))
    p = rng.random((5, 12))
    before = p.copy()
    np.testing.assert_array_equal(legal_marginals(RuleSystem.of(tree, range(12)), p), tree.raise_parents(p))
    np.testing.assert_array_equal(p, before)


def test_exactly_one_sums_to_one():
    q = legal_marginals(RuleSystem.of(Exactly(1, range(50)), range(50)), np.random.default_rng(0).random((4, 50)))
    np.testing.assert_allclose(q.sum(1), 1)
