"""The joint under rules against enumeration of the energy over the sets that keep them, by whichever way it is found."""

import numpy as np
import pytest
import torch
from tests.joint.problems import TERMS, L, all_sets, half_told, joint_of, log_densities, random_energy, random_logits
from tests.rules.rule_truth import holds

from enstruct.errors import DataError
from enstruct.joint import Joint, enumeration
from enstruct.joint.distribution import independent
from enstruct.rules import AtLeast, AtMost, Exactly, Excludes, Hierarchy, Implies, Requires, RuleSystem, Soft, predicate, states
from enstruct.rules import system as systems
from enstruct.rules.closest import best, nearest

ROWS = 4
SYSTEMS = {
    "hierarchy": [Hierarchy(L, ((0, 1), (1, 2), (0, 3), (5, 3)))],
    "exclusive": [Excludes(0, 1, 2), Excludes(3, 4)],
    "exactly": [Exactly(1, [0, 1, 2]), Exactly(2, [3, 4, 5])],
    "mixed": [Implies(0, 1), AtLeast(1, [2, 3]), AtMost(3, range(L)), Requires(4, [5, 2])],
    "all or nothing": [predicate(lambda some: len(some) in (0, 4), [0, 2, 3, 5])],
    "alike": [Implies(0, 1), Implies(1, 2), Implies(2, 0), Exactly(1, [0, 3, 4]), Implies(4, 5), Implies(5, 4)],
    "needed": [Exactly(1, [0, 1]), Implies(2, 0), Implies(3, 1), Requires(0, [2]), Requires(1, [3, 5]), Implies(5, 1)],
    "tied tables": [predicate(lambda some: len(some) in (0, 3), [0, 1, 2]), Implies(2, 3), Implies(3, 2), Requires(4, [3, 5])],
    "soft": [Soft(Exactly(1, [0, 1, 2]), 1.3), Soft(Implies(3, 4), 0.7)],
    "both": [Exactly(1, [0, 1, 2]), Soft(Excludes(2, 3, 4), 1.0), Implies(3, 4)],
}


WAYS = (("enumerated", "all"), ("enumerated", "independent"), ("sampled", "all"), ("sampled", "independent"), ("moved", "all"))
CASES = [(*way, name) for way in WAYS for name in SYSTEMS if way[1] == "all" or name in ("hierarchy", "mixed", "both")]
ONE_AT_A_TIME = ("hierarchy", "exclusive", "soft", "all or nothing")
"""Where moves are of one label or two, as where a group's sets are listed: what moves of more labels do is seen on the others."""
CASES = [case for case in CASES if case[0] != "moved" or case[2] not in ONE_AT_A_TIME]


@pytest.fixture(params=CASES, ids="-".join)
def case(request, monkeypatch):
    if request.param[0] != "enumerated":
        monkeypatch.setattr(enumeration, "MOST_FREE", 0)
        monkeypatch.setattr(enumeration, "MOST_COUNTED", 0)
    if request.param[0] == "moved":  # no group's sets are listed
        monkeypatch.setattr(systems, "legal_states", lambda A, least: states.legal_states(A, least, 0))
    return request.param


@pytest.fixture
def way(case):
    return case[0]


@pytest.fixture
def rules(case):
    return SYSTEMS[case[2]]


@pytest.fixture
def joint(case, rules):
    plain = joint_of(random_energy(**TERMS[case[1]], scale=0.5), random_logits(ROWS))
    return Joint(plain.energy, plain.state, plain.start, 0, RuleSystem.of(rules, range(L)))


def ruled_densities(joint, rules, known=None):
    """(rows, sets) of -E less what rules cost."""
    cost = torch.zeros(2**L, dtype=torch.float64)
    for rule in rules:
        soft = isinstance(rule, Soft)
        broken = torch.tensor([not holds(rule.rule if soft else rule, tuple(int(v) for v in y)) for y in all_sets()])
        cost = cost + torch.where(broken, rule.weight if soft else torch.inf, 0.0)
    return log_densities(joint, known) - cost


def some_told(rules):
    """What a legal set tells of a half of its labels, a row."""
    hard = [rule for rule in rules if not isinstance(rule, Soft)]
    sets = torch.stack([y for y in all_sets() if all(holds(rule, tuple(int(v) for v in y)) for rule in hard)])
    known = half_told(ROWS)
    chosen = sets[torch.randint(len(sets), (ROWS,), generator=torch.Generator().manual_seed(3))]
    return torch.where(known.isnan(), torch.nan, chosen)


def test_marginals(joint, rules, way):
    for known in (None, some_told(rules)):
        exact = torch.softmax(ruled_densities(joint, rules, known), 1) @ all_sets().double()
        p = joint.marginals(known, 0.03 if way == "moved" else 0.015)  # of some hundred cells the worst is three of these away
        assert (p - exact).abs().max() < {"enumerated": 1e-5, "sampled": 0.05, "moved": 0.08}[way]
        if known is not None:
            assert torch.equal(p[~known.isnan()], known[~known.isnan()])


def test_samples_keep_the_rules_and_their_shares(joint, rules, way):
    known, n = some_told(rules), 2000
    y = joint.sample(n, known)
    hard = [rule for rule in rules if not isinstance(rule, Soft)]
    assert RuleSystem.of(hard, range(L)).are_kept(y.flatten(0, 1).numpy()).all()
    sets = all_sets().double()
    exact = torch.einsum("rs,si,sj->rij", torch.softmax(ruled_densities(joint, rules, known), 1), sets, sets)
    estimate = (y.transpose(1, 2) @ y / n).double()
    assert ((estimate - exact).abs() <= 5 * ((exact * (1 - exact)).clamp(min=0) / n).sqrt() + 2e-3).all()


def test_log_probability(joint, rules, way):
    log_p = torch.log_softmax(ruled_densities(joint, rules), 1)
    for k in (0, 9, 21, 63):
        value, error = joint.log_probability(all_sets()[k].repeat(ROWS, 1))
        exact = log_p[:, k].numpy()
        if np.isinf(exact[0]):
            assert np.isneginf(value).all()
        else:
            np.testing.assert_allclose(value, exact, atol=1e-4 if way == "enumerated" else max(0.02, 5 * error.max()))


def test_told_labels_that_break_a_rule_are_refused():
    plain = joint_of(random_energy(), random_logits(2))
    joint = Joint(plain.energy, plain.state, plain.start, 0, RuleSystem.of(Excludes(0, 1), range(L)))
    known = torch.full((2, L), torch.nan)
    known[1, :2] = 1
    for answer in (joint.marginals, lambda told: joint.sample(2, told), lambda told: joint.log_probability(told, told)):
        with pytest.raises(DataError, match="row 1"):
            answer(known)


def test_answers_of_a_row_do_not_depend_on_the_others(monkeypatch):
    monkeypatch.setattr(enumeration, "MOST_FREE", 0)
    plain = joint_of(random_energy(), random_logits(ROWS))
    joint = Joint(plain.energy, plain.state, plain.start, 0, RuleSystem.of(SYSTEMS["mixed"], range(L)))
    torch.testing.assert_close(joint.marginals()[2:3], joint.take(torch.tensor([2])).marginals())


@pytest.mark.parametrize("rules", [[Hierarchy(90, tuple((i // 3, i) for i in range(1, 90)))], [Exactly(2, range(30))]])
def test_many_labels(rules):
    """Beyond 64 free labels the all but impossible ones are left out, of hierarchies too."""
    plain = joint_of(random_energy(90, pairs=True, scale=0.02), random_logits(3, 90) - 3)
    joint = Joint(plain.energy, plain.state, plain.start, 0, RuleSystem.of(rules, range(90)))
    y = joint.sample(50)
    assert joint.rules.are_kept(y.flatten(0, 1).numpy()).all()
    assert (joint.marginals() - y.mean(1)).abs().max() < 0.3


def test_six_labels_that_are_always_alike_change_together():
    """In a group with more legal sets than are listed: by the closed form of independent labels."""
    n, tied = 20, [Implies(i, (i + 1) % 6) for i in range(6)]
    logits = torch.linspace(-1, 1, n).repeat(2, 1)
    logits[:, :6] = torch.tensor([[0.1], [-0.1]])
    rules = RuleSystem.of([*tied, Excludes(0, 6), AtMost(13, range(6, n))], range(n))
    assert not rules.groups[0].listed
    p = independent(logits, 0, rules).marginals(None, 0.01)
    odds = logits.double()
    each = torch.log1p(odds.exp())
    without = torch.log(each[:, 6:].sum(1).exp() - odds[:, 6:].sum(1).exp())
    exact = torch.sigmoid(odds[:, :6].sum(1) + each[:, 7:].sum(1) - without)
    assert exact.max() - exact.min() > 0.2
    assert (p[:, :6] - exact[:, None]).abs().max() < 0.04


def test_log_probability_of_many_labels_is_finite_for_legal_sets():
    """Of forty labels a legal set may well be e^-40 as probable as all others together."""
    n = 40
    joint = independent(torch.linspace(-2, 2, n).repeat(2, 1), 0, RuleSystem.of([Excludes(0, 1), Implies(38, 39)], range(n)))
    y = (torch.arange(n) % 2).float().repeat(2, 1)
    y[1, 0] = 1  # against the rule
    value, error = joint.log_probability(y)
    odds = torch.linspace(-2, 2, n, dtype=torch.float64)
    exclusive = torch.log1p(odds[:2].exp().sum())
    implied = torch.log1p(odds[39].exp() + (odds[38] + odds[39]).exp())
    total = torch.nn.functional.softplus(odds[2:38]).sum() + exclusive + implied
    exact = float(odds[1::2].sum() - total)
    assert exact < -20
    assert value[0] == pytest.approx(exact, abs=max(0.05, 5 * error[0]))
    assert np.isneginf(value[1])


def test_a_told_label_that_leaves_nothing_has_no_probability():
    joint = independent(torch.zeros(1, 3), 0, RuleSystem.of([Exactly(1, [0, 1, 2])], range(3)))
    assert np.isneginf(joint.log_probability(torch.tensor([[1.0, 1.0, torch.nan]])).value).all()


def test_a_likely_label_is_not_forced_out_by_an_unlikely_one_above():
    """Beyond 64 free labels what is all but impossible is left out, of a hierarchy only where nothing below is likely."""
    logits = torch.full((1, 80), -9.0)
    logits[0, 1] = 12.0
    joint = independent(logits, 0, RuleSystem.of([Hierarchy(80, ((0, 1),))], range(80)))
    assert joint.marginals()[0, :2].min() > 0.9


def test_row_numbers_in_errors_are_those_of_the_call():
    """A program that propagation does not see through: an odd cycle of exclusions of which half are asked for."""
    n = 81
    rules = [*(Excludes(i, (i + 1) % n) for i in range(n)), AtLeast(40, range(n))]
    system = RuleSystem.of(rules, range(n))
    assert not system.groups[0].listed
    scores, known = np.ones((3, n)), np.full((3, n), np.nan)
    known[2, [0, 3]] = 0
    known[2, [1, 2]] = [1, 0]
    known[2, [6, 7, 10, 11]] = 0
    with pytest.raises(DataError, match="row 7"):
        best(system, scores[2:], known[2:], np.array([7]))
    with pytest.raises(DataError, match="row 2"):
        nearest(system, np.zeros((3, n)), np.full((3, n), 0.5), known)


def test_densities_of_whole_sets_hold_what_rules_cost(joint, rules):
    density, exact = joint.log_density(all_sets().repeat(ROWS, 1, 1)), ruled_densities(joint, rules)
    kept = exact.isfinite()
    torch.testing.assert_close(density.double()[kept], exact[kept], atol=1e-4, rtol=1e-4)
    assert (density[~kept] < -900).all()
