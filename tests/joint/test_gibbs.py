"""Chains against enumeration, within the error that they state."""

import math

import pytest
import torch
from tests.joint.problems import TERMS, L, half_told, joint_of, log_densities, marginals, random_energy, random_logits
from tests.joint.test_clamped import ROWS, sum_energy

from enstruct.joint import gibbs
from enstruct.joint.clamped import ClampedEnergy, ClampedResidual
from enstruct.joint.mean_field import mean_field


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def residual(terms="all", seed=0, known=None, scale=0.5):
    """(problem, start of its free labels, exact marginals of them)."""
    joint = joint_of(random_energy(**TERMS[terms], seed=seed, scale=scale), random_logits(ROWS))
    known = half_told(ROWS) if known is None else known
    with torch.no_grad():
        problem = ClampedResidual.of(joint.energy, joint.state, known)
    start = mean_field(joint.energy, joint.state, known).gather(1, problem.free)
    return problem, start, torch.where(problem.real, marginals(joint, known).gather(1, problem.free).float(), 0.0)


@pytest.mark.parametrize("terms", TERMS)
def test_marginals_within_their_stated_error(terms):
    """The error is a standard error: over rows and labels 5 of it is far."""
    problem, start, exact = residual(terms)
    p, error, sweeps = gibbs.marginals(problem, start, seeded(), L, tolerance=0.01)
    assert ((p - exact).abs() <= 5 * error.unsqueeze(1) + 1e-5)[problem.real].all()
    assert (error <= 0.01).all()
    assert (sweeps % gibbs.ROUND == 0).all()
    assert (sweeps >= gibbs.ROUND).all()


def test_a_smaller_tolerance_takes_longer_and_comes_nearer():
    problem, start, exact = residual(known=torch.full((ROWS, L), torch.nan))
    rough = gibbs.marginals(problem, start, seeded(), L, tolerance=0.05)
    fine = gibbs.marginals(problem, start, seeded(), L, tolerance=0.005)
    assert (fine.sweeps > rough.sweeps).any()
    assert (fine.sweeps >= rough.sweeps).all()
    assert (fine.marginals - exact).square().mean() < (rough.marginals - exact).square().mean()


def test_the_stated_error_is_the_spread_over_seeds():
    """Of the label that it belongs to, the worst: the error is the largest of several, so that it is rather too large."""
    problem, start, exact = residual(known=torch.full((ROWS, L), torch.nan))
    runs = [gibbs.marginals(problem, start, seeded(seed), L, tolerance=0.02) for seed in range(40)]
    deviation = torch.stack([run.marginals for run in runs]) - exact
    spread, error = deviation.square().mean(0).sqrt().amax(1), torch.stack([run.error for run in runs]).mean(0)
    assert (spread < 1.5 * error).all()
    assert (spread > 0.4 * error).all()


def test_marginals_of_other_energies():
    energy, state = sum_energy()
    known = half_told(ROWS)
    problem = ClampedEnergy.of(energy, state, known)
    start = torch.full(problem.free.shape, 0.5)
    p, error, _ = gibbs.marginals(problem, start, seeded(), L)
    from enstruct.joint import Joint

    exact = marginals(Joint(energy, state, torch.full((ROWS, L), 0.5)), known).gather(1, problem.free).float()
    assert ((p - exact)[problem.real].abs() <= 5 * error.unsqueeze(1).expand_as(p)[problem.real] + 1e-5).all()


def test_most_sweeps_end_rows_that_do_not_settle(monkeypatch):
    monkeypatch.setattr(gibbs, "MOST_SWEEPS", 12)
    problem, start, _ = residual(known=torch.full((ROWS, L), torch.nan))
    estimate = gibbs.marginals(problem, start, seeded(), L, tolerance=0.0)
    assert (estimate.sweeps == 12).all()
    assert (estimate.error > 0).all()


def test_a_rows_marginals_do_not_depend_on_the_others():
    problem, start, _ = residual()
    whole = gibbs.marginals(problem, start, seeded(), L, 0.02)
    for row in range(ROWS):
        rows = torch.tensor([row])
        alone = gibbs.marginals(problem.take(rows), start[rows], seeded(), L, 0.02)
        torch.testing.assert_close(alone.marginals[0], whole.marginals[row])
        assert alone.sweeps[0] == whole.sweeps[row]


def test_samples_have_the_joints_moments():
    """Means and products of all pairs, each within 5 standard errors of n independent draws."""
    known, n = torch.full((ROWS, L), torch.nan), 4000
    joint = joint_of(random_energy(**TERMS["all"], scale=0.5), random_logits(ROWS))
    with torch.no_grad():
        problem = ClampedResidual.of(joint.energy, joint.state, known)
    y = gibbs.draw(problem, joint.start, n, 30, seeded(), L)
    weights = torch.softmax(log_densities(joint), 1)
    from tests.joint.problems import all_sets

    exact = torch.einsum("rs,si,sj->rij", weights, all_sets().double(), all_sets().double())
    estimate = (y.transpose(1, 2) @ y / n).double()
    assert ((estimate - exact).abs() <= 5 * (exact * (1 - exact) / n).sqrt() + 1e-9).all()


def test_uniforms_are_read_by_the_numbers_of_labels():
    a = gibbs.Uniforms(4, 3, seeded()).sweep(torch.tensor([[0, 1, 2, 3], [3, 1, 0, 0]])).transpose(0, 1)
    assert torch.equal(a[0, 3], a[1, 0])
    assert torch.equal(a[0, 1], a[1, 1])
    assert not torch.equal(a[0, 0], a[0, 1])


@torch.no_grad()
def test_labels_that_change_in_no_row_are_passed_over_and_are_in_no_answer():
    known = torch.full((2, L), torch.nan)
    known[:, ::2], known[0, 1] = 1.0, 0.0  # label 1 is free in one row, those of even numbers in none
    joint = joint_of(random_energy(**TERMS["all"], seed=0), random_logits(2))
    problem = ClampedResidual.among_all(joint.energy, joint.state, known)
    walk = problem.chains(torch.zeros(2, L, 3))
    asked = []
    log_odds = walk.log_odds
    walk.log_odds = lambda t: asked.append(t) or log_odds(t)
    total = torch.zeros(L, 2, 3)
    gibbs.sweep(walk, torch.rand(L, 2, 3, generator=seeded()), total)
    assert asked == walk.moving == list(range(1, L, 2))
    assert (total[::2] == 0).all()
    assert (total[1::2, 1] > 0).all()
    assert torch.equal(walk.y[:, ::2], torch.ones_like(walk.y[:, ::2]))


def test_nothing_free_takes_no_chains():
    problem, start, _ = residual(known=torch.ones(ROWS, L))
    p, error, _ = gibbs.marginals(problem, start, seeded(), L)
    assert p.shape == (ROWS, 0)
    assert not error.any()
    assert math.prod(gibbs.draw(problem, start, 3, 2, seeded(), L).shape) == 0
