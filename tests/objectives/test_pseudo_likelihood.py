"""Pseudo-likelihoods against conditionals by enumeration, with holes and without."""

import pytest
import torch
from tests.joint.problems import TERMS, L, joint_of, marginals, random_energy, random_logits

from enstruct.objectives.pseudo_likelihood import pseudo_likelihood

ROWS = 4


def by_enumeration(joint, y):
    """Sum over labels of -log p(y_i | x, all others)."""
    total = 0.0
    for i in range(L):
        known = y.clone()
        known[:, i] = torch.nan
        p = marginals(joint, known)[:, i]
        total = total - torch.where(y[:, i] > 0, p, 1 - p).log()
    return total


@pytest.mark.parametrize("terms", TERMS)
def test_is_the_sum_of_conditionals(terms):
    joint, y = joint_of(random_energy(**TERMS[terms]), random_logits(ROWS)), (torch.rand(ROWS, L) < 0.5).float()
    value = pseudo_likelihood(joint.energy, joint.state, y, torch.full((ROWS, L), torch.nan))
    torch.testing.assert_close(value.double(), by_enumeration(joint, y), atol=1e-4, rtol=1e-4)


def test_holes_have_no_summand_and_say_nothing_at_the_bases_marginals():
    """Couplings are in y - mu: what the others are told of a hole filled with mu is nothing."""
    energy, logits = random_energy(**TERMS["pairs"]), random_logits(ROWS)
    joint, y = joint_of(energy, logits), (torch.rand(ROWS, L) < 0.5).float()
    y[:, [1, 4]] = torch.nan
    value = pseudo_likelihood(energy, joint.state, y, torch.sigmoid(logits))
    seen = torch.tensor([i for i in range(L) if i not in (1, 4)])
    residual = (y - torch.sigmoid(logits))[:, seen]
    s = (energy.slope * logits + energy.bias)[:, seen] + residual @ energy.couplings()[seen][:, seen]
    expected = (s.exp().log1p() - y[:, seen] * s).sum(1)
    torch.testing.assert_close(value, expected, atol=1e-5, rtol=1e-5)


def test_holes_are_filled_with_what_is_said_and_gradients_stay_finite():
    energy, logits = random_energy(**TERMS["all"]), random_logits(ROWS)
    y = (torch.rand(ROWS, L) < 0.5).float()
    holes = y.clone()
    holes[:, 2] = torch.nan
    state, every = energy.prepare(logits), energy.flips(energy.prepare(logits), y)
    each = torch.nn.functional.binary_cross_entropy_with_logits(every, y, reduction="none")
    value = pseudo_likelihood(energy, state, holes, y)
    torch.testing.assert_close(value, each.sum(1) - each[:, 2])
    value.sum().backward()
    assert all(torch.isfinite(p.grad).all() for p in energy.parameters())
    assert not pseudo_likelihood(energy, state, torch.full((ROWS, L), torch.nan), y).any()


def test_what_rules_add_is_added_to_the_log_odds():
    energy, logits, odds = random_energy(**TERMS["pairs"]), random_logits(ROWS), random_logits(ROWS, seed=5)
    state, y = energy.prepare(logits), (torch.rand(ROWS, L) < 0.5).float()
    p = torch.sigmoid(energy.flips(state, y) + odds)
    expected = -torch.where(y > 0, p, 1 - p).log().sum(1)
    torch.testing.assert_close(pseudo_likelihood(energy, state, y, y, odds), expected)
