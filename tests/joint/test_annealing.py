"""Annealed importance sampling against enumeration: near it, and by as much as its stated error says."""

import math

import numpy as np
import pytest
import torch
from tests.joint.problems import TERMS, half_told, joint_of, log_densities, random_energy, random_logits
from tests.joint.test_clamped import ROWS, sum_energy

from enstruct.joint import annealing
from enstruct.joint.clamped import ClampedEnergy, ClampedResidual
from enstruct.joint.distribution import independent
from enstruct.joint.mean_field import mean_field
from enstruct.rules import AtMost, RuleSystem


def problem_of(n_labels, terms, known=None, scale=0.4):
    """(problem, start, exact log Z)."""
    joint = joint_of(random_energy(n_labels, **TERMS[terms], scale=scale), random_logits(ROWS, n_labels))
    known = half_told(ROWS, n_labels) if known is None else known
    with torch.no_grad():
        problem = ClampedResidual.of(joint.energy, joint.state, known)
        start = mean_field(joint.energy, joint.state, known).gather(1, problem.free)
    return problem, start, torch.logsumexp(log_densities(joint, known), 1)


@pytest.mark.parametrize("n_labels", [1, 6, 14])
@pytest.mark.parametrize("terms", ["pairs", "units", "all"])
def test_within_four_standard_errors_of_enumeration(terms, n_labels):
    problem, start, exact = problem_of(n_labels, terms)
    log_z, error, effective = annealing.log_partition(problem, start, torch.Generator().manual_seed(0), n_labels)
    assert ((log_z - exact).abs() <= 4 * error + 1e-4).all()
    assert (error < 0.2).all()
    assert ((effective > 1) & (effective <= annealing.CHAINS + 1e-6)).all()


def test_exact_where_the_start_is_the_energy_itself():
    problem, start, exact = problem_of(6, "independent")
    log_z, error, effective = annealing.log_partition(problem, start, torch.Generator().manual_seed(0), 6, steps=3)
    torch.testing.assert_close(log_z, exact, atol=1e-3, rtol=0)  # starts are no closer to 0 and 1 than 1e-4
    assert (error < 1e-3).all()
    torch.testing.assert_close(effective, torch.full_like(effective, annealing.CHAINS), atol=0.01, rtol=0)


def test_the_error_is_honest_over_seeds():
    """Deviations in units of the stated error: root mean square 1, 200 seeds of five rows (and log mean w is below log Z)."""
    problem, start, exact = problem_of(8, "all", torch.full((ROWS, 8), torch.nan), scale=0.6)
    z = []
    for seed in range(60):
        log_z, error, _ = annealing.log_partition(problem, start, torch.Generator().manual_seed(seed), 8, steps=20)
        z.append((log_z - exact) / error)
    root = float(torch.stack(z).square().mean().sqrt())
    assert 0.7 < root < 1.4


def test_weights_are_unbiased_for_z_itself():
    """Mean of Z_hat / Z over seeds is 1, whatever the number of steps: three here."""
    problem, start, exact = problem_of(6, "all", torch.full((ROWS, 6), torch.nan), scale=0.4)
    ratios = torch.stack(
        [
            (annealing.log_partition(problem, start, torch.Generator().manual_seed(seed), 6, steps=3).log_z - exact).exp()
            for seed in range(200)
        ]
    )
    assert ((ratios.mean(0) - 1).abs() < 4 * ratios.std(0) / math.sqrt(200)).all()
    assert (ratios.std(0) > 0).all()


def test_error_and_effective_size_by_their_formulas(monkeypatch):
    """One step from independent labels: w = exp(-E) / q at the first draws."""
    problem, start, _ = problem_of(6, "pairs", torch.full((ROWS, 6), torch.nan))
    log_z, error, effective = annealing.log_partition(problem, start, torch.Generator().manual_seed(0), 6, steps=1, chains=8)
    uniforms = torch.rand(6, 8, generator=torch.Generator().manual_seed(0))
    y = (uniforms.T.unsqueeze(0) < start.unsqueeze(1)).float()  # (rows, chains, labels)
    log_q = (y * start.log().unsqueeze(1) + (1 - y) * (1 - start).log().unsqueeze(1)).sum(2)
    w = (problem.log_density(y) - log_q).double().exp()
    torch.testing.assert_close(log_z, w.mean(1).log(), atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(error, w.std(1) / w.mean(1) / math.sqrt(8), atol=1e-4, rtol=1e-3)
    torch.testing.assert_close(effective, w.sum(1) ** 2 / (w * w).sum(1), atol=1e-3, rtol=1e-3)


def test_other_energies():
    energy, state = sum_energy()
    known = half_told(ROWS)
    problem = ClampedEnergy.of(energy, state, known)
    from enstruct.joint import Joint

    exact = torch.logsumexp(log_densities(Joint(energy, state, torch.full(known.shape, 0.5)), known), 1)
    log_z, error, _ = annealing.log_partition(problem, torch.full(problem.free.shape, 0.5), torch.Generator().manual_seed(0), 6)
    assert ((log_z - exact).abs() <= 4 * error + 1e-4).all()


def test_under_rules_illegal_sets_have_no_share_however_likely():
    """All labels are likely, and one may be there at most: the sum over legal sets is known."""
    for n, sure in ((6, 9.0), (15, 9.0), (30, -2.0)):
        joint = independent(torch.full((2, n), sure), 0, RuleSystem.of(AtMost(1, list(range(n))), list(range(n))))
        y = torch.eye(n)[:2]
        wanted = sure - math.log(1 + n * math.exp(sure))
        value, error = joint.log_probability(y)
        assert value == pytest.approx([wanted] * 2, abs=max(1e-4, 4 * error.max()))
        assert error.max() < 0.5
    hopeless = independent(torch.full((1, 30), 9.0), 0, RuleSystem.of(AtMost(1, list(range(30))), list(range(30))))
    value, error = hopeless.log_probability(torch.eye(30)[:1])  # chains begin where all are there, and stay
    assert np.isinf(error).all()
    assert value < 0
