"""One row's chains as machine code: the same numbers as by PyTorch."""

import numpy as np
import pytest
import torch

from enstruct.energies.residual import ResidualEnergy
from enstruct.joint import Joint, enumeration, gibbs, one_row
from enstruct.joint.clamped import ClampedResidual

pytest.importorskip("numba")


def problem(n_labels, pairs, units, told=0, among_all=False, seed=0):
    torch.manual_seed(seed)
    energy = ResidualEnergy(n_labels, pairs=pairs, units=units)
    with torch.no_grad():
        for parameter in energy.parameters():
            parameter.add_(0.4 * torch.randn_like(parameter))
    logits = torch.randn(1, n_labels)
    known = torch.full((1, n_labels), torch.nan)
    known[0, :told] = (torch.rand(told) < 0.5).float()
    state = energy.prepare(logits)
    build = ClampedResidual.among_all if among_all else ClampedResidual.of
    return build(energy, state, known), torch.sigmoid(logits), energy, state, known


@pytest.mark.parametrize(("pairs", "units"), [(True, 0), (False, 5), (True, 4)])
@pytest.mark.parametrize("among_all", [False, True])
def test_as_by_pytorch(pairs, units, among_all):
    clamped, p, *_ = problem(12, pairs, units, told=3, among_all=among_all)
    assert one_row.residual_of_one_row(clamped) is clamped
    start = p.gather(1, clamped.free)
    both = [module.marginals(clamped, start, torch.Generator().manual_seed(3), 12, 0.02, 32) for module in (gibbs, one_row)]
    real = clamped.real[0]
    np.testing.assert_allclose(both[1].marginals[0][real], both[0].marginals[0][real], atol=1e-4)
    assert both[1].sweeps == both[0].sweeps
    drawn = [module.draw(clamped, start, 50, 4, torch.Generator().manual_seed(4), 12) for module in (gibbs, one_row)]
    assert (drawn[0] == drawn[1]).float().mean() > 0.999  # rounding may turn a draw


def test_as_by_enumeration():
    clamped, p, *_ = problem(10, True, 4, seed=2)
    exact = enumeration.marginals(clamped).detach()
    sampled = one_row.marginals(clamped, p, torch.Generator().manual_seed(0), 10, 0.004, 64)
    np.testing.assert_allclose(sampled.marginals, exact, atol=0.02)


def test_a_hurried_joint_says_the_same():
    _, p, energy, state, known = problem(24, False, 6, told=2, seed=5)
    joint = Joint(energy, state, p)
    np.testing.assert_allclose(joint.hurried().marginals(known, chains=32), joint.marginals(known, chains=32), atol=1e-4)


def test_blocks_of_rows_are_left_to_pytorch(monkeypatch):
    clamped, p, energy, *_ = problem(24, False, 6)
    two = ClampedResidual.of(energy, energy.prepare(torch.randn(2, 24)), torch.full((2, 24), torch.nan))
    assert one_row.residual_of_one_row(two) is None
    monkeypatch.setattr(one_row, "_compiled", lambda: None)
    assert one_row.residual_of_one_row(clamped) is None  # without Numba
    out = one_row.marginals(clamped, p, torch.Generator().manual_seed(0), 24, 0.05)
    assert out.marginals.shape == (1, 24)
