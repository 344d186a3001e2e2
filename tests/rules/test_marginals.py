import numpy as np
import pytest
from tests.rules.rule_truth import legal_sets, random_rule

from enstruct.data.hierarchy import Hierarchy
from enstruct.rules import AtLeast, AtMost, Exactly, Excludes, RuleSystem, Soft
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


@pytest.mark.parametrize(
    ("rules", "n_labels"),
    [
        ([Exactly(7, range(16))], 16),
        ([AtLeast(3, range(15)), Soft(AtMost(5, range(15)), 1.5)], 15),
        ([Soft(AtMost(1, range(14)), 2.0)], 14),
        ([Soft(AtLeast(12, range(14)), 0.7), Soft(AtMost(2, range(14)), 0.3)], 14),
    ],
)
def test_rules_that_count_many_labels(rules, n_labels):
    """More sets than are listed, against all of them."""
    system = RuleSystem.of(rules, range(n_labels))
    assert [len(group.cost) for group in system.groups] == [n_labels + 1]
    assert system.approximations is None
    p = np.random.default_rng(0).uniform(0.02, 0.9, (3, n_labels))
    sets = ((np.arange(2**n_labels)[:, None] >> np.arange(n_labels)) & 1).astype(float)
    broken = sets @ system.matrix.T.toarray() < system.least
    cost = np.where(broken & system.binds, np.inf, broken * np.where(system.binds, 0, system.weight)).sum(1)
    weight = np.exp(np.log(p) @ sets.T + np.log(1 - p) @ (1 - sets.T) - cost)
    np.testing.assert_allclose(legal_marginals(system, p), weight @ sets / weight.sum(1, keepdims=True), rtol=1e-9)


def test_sizes_that_are_all_but_impossible():
    """Of six hundred labels one, and of labels that are hardly ever there five hundred: as probable as closed forms say."""
    names = range(600)
    half = legal_marginals(RuleSystem.of(Soft(AtMost(1, names), 2000.0), names), np.full((2, 600), 0.5))
    np.testing.assert_allclose(half, 1 / 601, rtol=1e-9)
    many = legal_marginals(RuleSystem.of(AtLeast(500, names), names), np.full((1, 600), 1e-4))
    np.testing.assert_allclose(many.sum(), 500, rtol=1e-4)
    exactly = legal_marginals(RuleSystem.of(Exactly(300, names), names), np.random.default_rng(0).random((2, 600)))
    np.testing.assert_allclose(exactly.sum(1), 300)


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
