import numpy as np
from tests.rules.rule_truth import holds, legal_sets, random_rule

from enstruct.rules import RuleSystem, Soft
from enstruct.rules.odds import rule_odds


def test_they_are_what_flipping_a_label_breaks():
    rng = np.random.default_rng(0)
    for _ in range(100):
        hard, soft = random_rule(rng, 5), random_rule(rng, 5)
        if len(RuleSystem.of(soft, range(5)).inequalities) != 1:
            continue
        sets = legal_sets([hard], 5)
        odds = rule_odds(RuleSystem.of([hard, Soft(soft, 0.7)], range(5)), sets.reshape(-1, 5))
        for y, row in zip(sets, odds, strict=True):
            for i in range(5):
                both = [tuple(np.where(np.arange(5) == i, value, y)) for value in (0, 1)]
                cost = [0.7 * (not holds(soft, one)) for one in both]
                settled = [holds(hard, one) for one in both]
                if all(settled):
                    np.testing.assert_allclose(row[i], cost[0] - cost[1], rtol=1e-5)
                else:
                    assert (row[i] > 30) == settled[1]  # as good as never
