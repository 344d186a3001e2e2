"""Chains that are kept walk by the energy's own distribution, and leave what is told as it is."""

import pytest
import torch
from tests.joint.problems import joint_of, marginals, random_energy, random_logits

from enstruct.joint import persistent
from enstruct.joint.persistent import PersistentChains
from enstruct.rules import AtMost, Exactly, Implies, RuleSystem, states
from enstruct.rules import system as systems

L, ROWS = 6, 8
ALL = torch.arange(ROWS)


def begun(energy, observed, monkeypatch, chains=500, rules=None, rows=ROWS):
    monkeypatch.setattr(persistent, "CHAINS", chains)
    kept = PersistentChains(random_logits(rows, L), observed, 0, rules)
    kept.renew(energy, torch.arange(rows))
    return kept


@pytest.mark.parametrize("units", [0, 3])
def test_they_are_of_the_energys_distribution_given_what_is_told(units, monkeypatch):
    energy, observed = (
        random_energy(L, scale=0.5, pairs=True, units=units, smoothed=True),
        (random_logits(ROWS, L, 3) > 0).float(),
    )
    kept = begun(energy, observed, monkeypatch)
    state = energy.prepare(random_logits(ROWS, L))
    total = sum(kept.advance(energy, state, ALL).mean(1) for _ in range(40)) / 40
    exact = marginals(joint_of(energy, random_logits(ROWS, L)), kept.known)
    assert ((total - exact).abs() < 0.03).all()
    told = ~kept.known.isnan()
    assert told.any()
    assert (total[told] == observed[told]).all()


def test_rows_that_are_not_asked_for_stay_where_they_are(monkeypatch):
    energy, observed = random_energy(L, pairs=True), torch.ones(ROWS, L)
    kept = begun(energy, observed, monkeypatch, chains=3)
    before, few = (kept.states.clone(), kept.known.clone()), torch.tensor([5, 1])
    y = kept.advance(energy, energy.prepare(random_logits(ROWS, L)[few]), few)
    assert torch.equal(kept.states[few].float(), y)
    kept.renew(energy, torch.tensor([1]))
    others = [row for row in range(ROWS) if row not in (1, 5)]
    assert torch.equal(kept.states[others], before[0][others])
    torch.testing.assert_close(kept.known[others], before[1][others], equal_nan=True)


def test_in_half_of_the_rows_nothing_is_told_and_never_what_is_unobserved(monkeypatch):
    observed = torch.ones(2000, L)
    observed[:, 0] = torch.nan
    known = begun(random_energy(L, pairs=True), observed, monkeypatch, chains=1, rows=2000).known
    assert known[:, 0].isnan().all()
    told = (~known[:, 1:].isnan()).float().mean(1)
    assert 0.5 < (told == 0).float().mean() < 0.65  # of a small share of five labels none may be told
    assert told[told > 0].mean() > 0.5


def test_they_keep_the_rules(monkeypatch):
    rules = RuleSystem.of([Implies(0, 1), AtMost(1, (2, 3, 4))], range(L))
    energy, observed = random_energy(L, pairs=True), torch.zeros(40, L)
    observed[:, 0] = observed[:, 1] = 1.0
    kept = begun(energy, observed, monkeypatch, chains=50, rules=rules, rows=40)
    state = energy.prepare(random_logits(40, L))
    for _ in range(5):
        y = kept.advance(energy, state, torch.arange(40))
        assert (y[..., 1] >= y[..., 0]).all()
        assert (y[..., 2:5].sum(2) <= 1).all()
    follows = kept.known[:, 0] == 1
    assert follows.any()
    assert (kept.known[follows, 1] == 1).all()


@pytest.mark.parametrize("listed", [True, False])
def test_under_rules_rows_move_by_themselves(listed, monkeypatch):
    """Of equal rows each in another state: moves of several labels at once have numbers of their own."""
    if not listed:
        monkeypatch.setattr(systems, "legal_states", lambda A, least: states.legal_states(A, least, 0))
    monkeypatch.setattr(persistent, "CHAINS", 1)
    rules, rows = RuleSystem.of([Exactly(1, (0, 1, 2, 3))], range(4)), torch.arange(400)
    energy, logits = random_energy(4, pairs=False), torch.zeros(400, 4)
    kept = PersistentChains(logits, torch.full((400, 4), torch.nan), 0, rules)
    kept.renew(energy, rows)
    for _ in range(10):
        y = kept.advance(energy, energy.prepare(logits), rows)
    exact = torch.softmax(energy.prepare(logits).terms[0][0], 0)
    assert ((y.mean((0, 1)) - exact).abs() < 4 * (exact * (1 - exact) / 400).sqrt()).all()


def test_they_begin_at_the_bases_marginals(monkeypatch):
    kept = begun(random_energy(L, pairs=True), torch.full((ROWS, L), torch.nan), monkeypatch, chains=4000)
    assert ((kept.states.float().mean(1) - torch.sigmoid(random_logits(ROWS, L))).abs() < 0.04).all()


def test_rows_that_are_alike_walk_apart(monkeypatch):
    monkeypatch.setattr(persistent, "CHAINS", 1)
    energy, logits, every = random_energy(L, scale=0.5, pairs=True), random_logits(1, L).repeat(400, 1), torch.arange(400)
    kept = PersistentChains(logits, torch.full((400, L), torch.nan), 0)
    kept.renew(energy, every)
    for _ in range(10):
        y = kept.advance(energy, energy.prepare(logits), every)
    exact = marginals(joint_of(energy, logits[:1]), torch.full((1, L), torch.nan))[0]
    error = (exact * (1 - exact) / 400).sqrt()
    assert ((y[:, 0].mean(0) - exact).abs() < 4 * error + 0.01).all()
