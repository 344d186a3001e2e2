"""Decision rules in a graph against those that they stand for; expected F1 by quadrature against the recursion."""

import numpy as np
import pytest
import torch

from enstruct.decisions.choose import make_rule
from enstruct.decisions.expected_f1 import HEAD, ExpectedF1, expected_f1_by_size
from enstruct.errors import ConfigError
from enstruct.export.decisions import decision_graph, expected_f1
from enstruct.export.rules import LegalMarginals, LegalSets, check_fixed
from enstruct.rules import AtMost, Exactly, Excludes, Implies, RuleSystem, Soft
from enstruct.rules.closest import nearest
from enstruct.rules.marginals import legal_marginals


def marginals(labels, rows=60, seed=0):
    rng = np.random.default_rng(seed)
    return rng.beta(0.4, 1 + labels / 6, (rows, labels))


@pytest.mark.parametrize("labels", [1, 5, 40, HEAD + 50])
@pytest.mark.parametrize("name", ["fixed", "threshold", "scaled", "per-label", "top-k", "expected-f1"])
def test_rules(name, labels):
    p = marginals(labels)
    truth = (np.random.default_rng(1).random(p.shape) < p).astype(int)
    rule = make_rule(name).fit(p, truth)
    found = decision_graph(name, rule)(torch.from_numpy(p)).numpy()
    np.testing.assert_array_equal(found, rule.predict(p).toarray() == 1)


@pytest.mark.parametrize("allow_empty", [True, False])
@pytest.mark.parametrize(("sharpness", "shift"), [(1.0, 0.0), (0.6, -0.5)])
def test_recalibrated_expected_f1(sharpness, shift, allow_empty):
    rule, p = ExpectedF1(sharpness, shift, allow_empty), marginals(12)
    p[0] = 1e-4
    found = decision_graph("expected-f1", rule)(torch.from_numpy(p)).numpy()
    np.testing.assert_array_equal(found, rule.predict(p).toarray() == 1)
    assert found[0].any() != allow_empty


@pytest.mark.parametrize(("labels", "scale", "tail"), [(3, 1.0, 0.0), (14, 1.0, 0.0), (100, 0.3, 0.0), (HEAD, 0.9, 30.0)])
def test_quadrature(labels, scale, tail):
    rng = np.random.default_rng(2)
    p, tails = -np.sort(-rng.uniform(0, scale, (5, labels)), axis=1), np.full(5, tail)
    found = expected_f1(torch.from_numpy(p), torch.from_numpy(tails)).numpy()
    np.testing.assert_allclose(found, expected_f1_by_size(p, tails, labels), atol=1e-11)


def test_a_rule_that_asks_the_energy_is_refused():
    with pytest.raises(ConfigError, match="no fixed graph"):
        decision_graph("bayes-risk", object())


@pytest.mark.parametrize(
    "rules",
    [
        [Implies(0, 1), Implies(1, 2), Implies(3, 2)],
        [Excludes(0, 1, 2)],
        [Exactly(2, [0, 1, 2, 3]), Implies(4, 5)],
        [AtMost(1, [1, 2, 3]), Soft(Excludes(4, 5), 2.0)],
    ],
)
def test_label_sets_under_rules(rules):
    system, p = RuleSystem.of(rules, list(range(6))), marginals(6, 200)
    chosen = np.random.default_rng(3).random(p.shape) < 0.4
    legal = LegalMarginals(system)(torch.from_numpy(p)).numpy()
    np.testing.assert_allclose(legal, legal_marginals(system, p), atol=1e-12)
    found = LegalSets(system)(torch.from_numpy(chosen), torch.from_numpy(p)).numpy()
    np.testing.assert_array_equal(found, nearest(system, chosen, p) == 1)
    assert system.are_kept(found.astype(int)).all()


def test_a_large_hierarchy_beside_another_rule():
    """Of its label sets there are too many to list, and none is needed."""
    rules = [*(Implies(i, i // 2) for i in range(1, 40)), Excludes(40, 41)]
    system, p = RuleSystem.of(rules, list(range(42))), marginals(42, 100)
    check_fixed(system)
    chosen = np.random.default_rng(3).random(p.shape) < 0.3
    found = LegalSets(system)(torch.from_numpy(chosen), torch.from_numpy(p)).numpy()
    np.testing.assert_array_equal(found, nearest(system, chosen, p) == 1)


def test_soft_rules_over_many_labels_change_no_set():
    """What more is said of them than their number; probabilities that heed that are a recursion, and no graph."""
    system, p = RuleSystem.of([Soft(AtMost(20, list(range(39))), 1.0), Soft(Implies(0, 39), 1.0)], list(range(40))), marginals(40)
    check_fixed(system)
    with pytest.raises(ConfigError, match="prefer some numbers of 40 labels"):
        check_fixed(RuleSystem.of([Soft(AtMost(20, list(range(40))), 1.0)], list(range(40))))
    chosen = p > 0.3
    np.testing.assert_array_equal(LegalSets(system)(torch.from_numpy(chosen), torch.from_numpy(p)).numpy(), chosen)


def test_rules_over_too_many_labels_to_list():
    system = RuleSystem.of([AtMost(20, list(range(40)))], list(range(40)))
    with pytest.raises(ConfigError, match="40 labels together"):
        check_fixed(system)
