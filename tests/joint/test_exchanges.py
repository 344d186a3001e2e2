"""Exchanges of two labels against enumeration of the energy over all sets."""

import pytest
import torch
from tests.joint.problems import all_sets, joint_of, log_densities, random_energy, random_logits
from tests.joint.test_holes import with_holes
from tests.rules.rule_truth import holds

from enstruct.estimators.label_noise import moved_odds
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
    monkeypatch.setattr("enstruct.joint.exchanges.DRAWS", 2000)
    observed = with_holes(y, 0.4)
    wanted = exact(energy, logits, observed)
    torch.testing.assert_close(exchange_odds(energy, logits, observed, 0), wanted, atol=0.05, rtol=0.1, equal_nan=True)


def test_what_is_moved_by_its_rate_is_as_often_wrong():
    """Rows of one label, which a tenth of are noted as any other one: by Bayes, and by the odds of exchanges."""
    n, n_labels, moved = 20_000, 8, 0.1
    draws = torch.Generator().manual_seed(0)
    q = torch.softmax(2 * torch.randn(n, n_labels, generator=draws), 1)
    there = torch.multinomial(q, 1, generator=draws).squeeze(1)
    away = (there + torch.randint(1, n_labels, (n,), generator=draws)) % n_labels
    noted = torch.where(torch.rand(n, generator=draws) < moved, away, there)
    p = (1 - moved) * q + moved / (n_labels - 1) * (1 - q)  # of the note, as a model learns it
    y = torch.eye(n_labels)[noted]
    plain = random_energy(n_labels, pairs=False, scale=0.0)
    with torch.no_grad():
        plain.slope.fill_(1.0)
    m = exchange_odds(plain, p.log(), y, 0)  # logits of labels of which one is there
    odds = torch.from_numpy(moved_odds(m.numpy(), y.numpy(), moved))
    bayes = (1 - moved) * q[torch.arange(n), noted] / p[torch.arange(n), noted]
    quality = 1 / (1 + odds[torch.arange(n), noted])
    assert ((quality - bayes).abs() < 0.011).all()  # at nothing what is left keeps the order
    for low, high in ((0.0, 0.5), (0.5, 0.8), (0.8, 0.95), (0.95, 1.0)):
        some = (quality > low) & (quality < high)
        assert some.sum() > 300
        assert float((noted == there)[some].double().mean()) == pytest.approx(float(quality[some].mean()), abs=0.03)
    other = torch.where(noted == 0, 1, 0)  # one that is not noted
    claimed = odds[torch.arange(n), other] / (1 + odds[torch.arange(n), other])
    assert float((other == there).double().mean()) == pytest.approx(float(claimed.mean()), abs=0.01)


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
