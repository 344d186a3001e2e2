"""Enumeration of the free labels against sums over all label sets of the whole energy."""

import pytest
import torch
from tests.joint.problems import TERMS, L, all_sets, half_told, joint_of, log_densities, marginals, random_energy, random_logits

from enstruct.joint import enumeration
from enstruct.joint.clamped import ClampedResidual

ROWS = 5


@pytest.fixture
def problem():
    known = half_told(ROWS)
    joint = joint_of(random_energy(**TERMS["all"]), random_logits(ROWS))
    with torch.no_grad():
        return joint, known, ClampedResidual.of(joint.energy, joint.state, known)


def test_states_are_all_of_them():
    assert enumeration.states(0).shape == (1, 0)
    assert enumeration.states(2).tolist() == [[0, 0], [1, 0], [0, 1], [1, 1]]


def test_marginals_and_partition_functions(problem):
    joint, known, clamped = problem
    exact, p = marginals(joint, known), enumeration.marginals(clamped)
    for row in range(ROWS):
        free = known[row].isnan()
        torch.testing.assert_close(p[row, : free.sum()].double(), exact[row, free], atol=1e-5, rtol=1e-5)
        assert not p[row, free.sum() :].any()
    expected = torch.logsumexp(log_densities(joint, known), 1)
    torch.testing.assert_close(enumeration.log_partition(clamped), expected, atol=1e-5, rtol=1e-6)


def test_blocks_of_states_change_nothing(problem, monkeypatch):
    whole = enumeration.log_densities(problem[2])
    monkeypatch.setattr(enumeration, "STATES_AT_ONCE", 1)
    torch.testing.assert_close(enumeration.log_densities(problem[2]), whole)
    assert enumeration.log_densities(problem[2].take(torch.zeros(0, dtype=torch.long))).shape == (0, 2**L)


def test_samples_are_as_frequent_as_they_are_probable(problem):
    """Pearson's statistic over all 64 sets of a row of which nothing is told: 0.999 quantile of chi square with 63 degrees."""
    joint, _, clamped = problem
    n = 20_000
    y = enumeration.draw(clamped, n, torch.Generator().manual_seed(0))
    number = (y[0].double() @ 2.0 ** torch.arange(L - 1, -1, -1).double()).long()
    counts = torch.bincount(number, minlength=2**L)
    expected = n * torch.softmax(log_densities(joint), 1)[0]
    many = expected > 5
    rest = (counts[~many].sum() - expected[~many].sum()) ** 2 / expected[~many].sum()
    assert float(((counts - expected) ** 2 / expected)[many].sum() + rest) < 103.4
    assert torch.equal(all_sets()[number], y[0])


def test_no_sample_has_a_padded_label(problem):
    clamped = problem[2]
    y = enumeration.draw(clamped, 500, torch.Generator().manual_seed(0))
    assert not (y * ~clamped.real.unsqueeze(1)).any()
