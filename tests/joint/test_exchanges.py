"""Exchanges of two labels against enumeration of the energy over all sets."""

import pytest
import torch
from tests.joint.problems import all_sets, joint_of, log_densities, random_energy, random_logits
from tests.joint.test_holes import with_holes
from tests.rules.rule_truth import holds

from enstruct.joint import holes
from enstruct.joint.exchanges import exchange_odds
from enstruct.rules import Exactly, Implies, RuleSystem, Soft

L, ROWS = 6, 5


def by_enumeration(log_p, y):
    """(labels,) of one row: odds that each label and another one are exchanged, of all ways to fill the holes. ``log_p`` (sets,)
    of all sets, -inf of those that cannot be; y (labels,), NaN in holes."""
    sets, told = all_sets(L), ~y.isnan()
    p = torch.softmax(log_p, 0)

    def p_of(values):
        return p[(sets[:, told] == values[told]).all(1)].sum()

    out = torch.full((L,), torch.nan, dtype=torch.float64)
    for i in torch.nonzero(told).squeeze(1).tolist():
        out[i] = 0.0
        for j in torch.nonzero(told).squeeze(1).tolist():
            if y[i] != y[j]:
                exchanged = y.clone()
                exchanged[i], exchanged[j] = y[j], y[i]
                out[i] += p_of(exchanged) / p_of(y)
    return out


def exact(energy, logits, y, cost=0.0):
    log_p = log_densities(joint_of(energy, logits)).double() - cost
    return torch.stack([by_enumeration(row, own) for row, own in zip(log_p, y, strict=True)])


@pytest.mark.parametrize("terms", [{"pairs": True}, {"pairs": False, "units": 3, "stacked": True}])
def test_of_whole_sets_and_of_sets_with_holes(terms, monkeypatch):
    energy, logits = random_energy(L, scale=0.5, **terms), random_logits(ROWS, L)
    y = (random_logits(ROWS, L, 1) > 0).float()
    y[0], y[1] = 0.0, 1.0  # nothing to exchange
    monkeypatch.setattr(holes, "CELLS", 4 * 3 * L)  # blocks of some rows
    found = exchange_odds(energy, logits, y, 0)
    torch.testing.assert_close(found, exact(energy, logits, y), atol=1e-5, rtol=1e-4)
    assert (found[:2] == 0).all()
    monkeypatch.setattr("enstruct.joint.exchanges.DRAWS", 4000)
    observed = with_holes(y, 0.4)
    wanted = exact(energy, logits, observed)
    torch.testing.assert_close(exchange_odds(energy, logits, observed, 0), wanted, atol=0.05, rtol=0.1, equal_nan=True)


def test_under_rules_that_no_single_label_could_change():
    rules = [Exactly(1, [0, 1, 2]), Implies(3, 0), Soft(Implies(4, 5), 0.7)]
    energy, logits = random_energy(L, pairs=True, units=3, scale=0.5), random_logits(4, L)
    y = torch.tensor([[1.0, 0, 0, 1, 1, 0], [0, 1, 0, 0, 1, 1], [0, 0, 1, 0, 0, 0], [1, 0, 0, 0, 1, 0]])
    cost = torch.zeros(2**L, dtype=torch.float64)
    for rule in rules:
        soft = isinstance(rule, Soft)
        broken = torch.tensor([not holds(rule.rule if soft else rule, tuple(int(v) for v in one)) for one in all_sets(L)])
        cost += torch.where(broken, rule.weight if soft else torch.inf, 0.0)
    found = exchange_odds(energy, logits, y, 0, RuleSystem.of(rules, range(L)))
    torch.testing.assert_close(found, exact(energy, logits, y, cost), atol=1e-5, rtol=1e-3)
    assert found[0, 0] < 1e-15 < found[1, 1]  # 3 needs 0, which nothing there may stand in for
