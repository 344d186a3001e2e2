"""The residual energy against its formula, its log-odds against enumeration, its gradients against finite differences."""

import math

import pytest
import torch
from tests.joint.problems import TERMS, L, all_sets, by_formula, random_energy, random_logits

from enstruct.energies.residual import ResidualEnergy, squareplus
from enstruct.spaces import LabelVectors


def test_squareplus_by_hand_with_and_without_a_gradient():
    u = torch.tensor([-1.5, 0.0, 1.5])
    expected = torch.tensor([0.5, 1.0, 2.0])  # sqrt(1.5^2 + 4) = 2.5
    torch.testing.assert_close(squareplus(u), expected)
    torch.testing.assert_close(squareplus(u.requires_grad_()), expected)


@pytest.mark.parametrize("terms", TERMS)
def test_every_term_by_its_formula(terms):
    energy, logits = random_energy(**TERMS[terms]), random_logits(2)
    y = torch.rand(2, 3, L)  # relaxed ones too
    values = energy(energy.prepare(logits), y)
    expected = torch.stack([torch.stack([by_formula(energy, logits[b], y[b, s]) for s in range(3)]) for b in range(2)])
    torch.testing.assert_close(values.double(), expected, atol=1e-4, rtol=1e-5)


def test_sparse_label_sets_are_label_sets():
    energy, logits = random_energy(**TERMS["all"]), random_logits(2)
    y = (torch.rand(2, 3, L) < 0.4).float()
    state = energy.prepare(logits)
    torch.testing.assert_close(energy(state, LabelVectors.from_dense(y)), energy(state, y))


@pytest.mark.parametrize("terms", TERMS)
def test_flips_are_differences_of_energies(terms):
    energy, logits = random_energy(**TERMS[terms]), random_logits(4)
    state, y = energy.prepare(logits), (torch.rand(4, L) < 0.5).float()
    absent = y.unsqueeze(1).expand(-1, L, -1) * (1 - torch.eye(L))
    with torch.no_grad():
        expected = energy(state, absent) - energy(state, absent + torch.eye(L))
        torch.testing.assert_close(energy.flips(state, y), expected, atol=1e-5, rtol=1e-5)


def test_flips_of_relaxed_sets_leave_the_others_where_they_are():
    energy, logits = random_energy(**TERMS["all"]), random_logits(3)
    state, y = energy.prepare(logits), torch.rand(3, L)
    absent = y.unsqueeze(1).expand(-1, L, -1) * (1 - torch.eye(L))
    with torch.no_grad():
        expected = energy(state, absent) - energy(state, absent + torch.eye(L))
    torch.testing.assert_close(energy.flips(state, y), expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("terms", TERMS)
def test_gradients_by_finite_differences(terms):
    energy = random_energy(**TERMS[terms]).double()
    logits, y = random_logits(2).double(), torch.rand(2, 2, L, dtype=torch.float64, requires_grad=True)
    parameters = tuple(energy.parameters())

    def values(y, *parameters):  # the energy's own tensors, which gradcheck moves in place
        return energy(energy.prepare(logits), y), energy.flips(energy.prepare(logits), y[:, 0])

    assert torch.autograd.gradcheck(values, (y, *parameters))


def test_it_starts_as_the_bases_product_of_marginals():
    logits = random_logits(3)
    energy = ResidualEnergy(L, pairs=True, units=4, stacked=True, varying=True)
    energy.standardise_by(logits)
    state, sets = energy.prepare(logits), all_sets()
    log_p = torch.log_softmax(-energy(state, sets.expand(3, -1, -1)), 1)
    p = torch.sigmoid(logits).unsqueeze(1)
    torch.testing.assert_close(log_p, (sets * p.log() + (1 - sets) * (1 - p).log()).sum(2), atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(energy.flips(state, sets[5].expand(3, -1)), logits)


def test_smoothed_marginals_lie_between_the_bases_and_the_frequencies():
    logits, frequency = torch.tensor([[-9.2, 0.0, 9.2]]), torch.tensor([0.2, 0.3, 0.4])
    energy = ResidualEnergy(3, smoothed=True)
    energy.smooth_towards(frequency)
    energy.smoothing.data.fill_(math.log(1 / 3))  # a quarter
    field, mean, _ = energy.prepare(logits).terms
    expected = 0.75 * torch.sigmoid(logits) + 0.25 * frequency
    torch.testing.assert_close(mean, expected)
    torch.testing.assert_close(field, torch.logit(expected))
    energy.smoothing.data.fill_(-40.0)
    torch.testing.assert_close(energy.prepare(logits).terms[0], logits, atol=0, rtol=1e-6)
    far = torch.tensor([[-60.0, 17.5, 60.0]])
    torch.testing.assert_close(energy.prepare(far).terms[0][:, 1], far[:, 1], atol=0, rtol=1e-6)
    assert torch.isfinite(energy.prepare(far).terms[0]).all()
    plain = ResidualEnergy(3)
    plain.smooth_towards(frequency)  # which it has no use for
    assert torch.equal(plain.prepare(logits).terms[0], logits)


def test_couplings_say_nothing_of_what_the_base_expects():
    """W acts on y - mu: at y = mu the log-odds are the fields, whatever W."""
    energy, logits = random_energy(pairs=True), random_logits(3)
    state = energy.prepare(logits)
    torch.testing.assert_close(energy.flips(state, torch.sigmoid(logits)), energy.slope * logits + energy.bias)


def test_couplings_are_symmetric_without_a_diagonal():
    W = random_energy(pairs=True).couplings()
    assert torch.equal(W, W.T)
    assert not W.diagonal().any()
    assert random_energy(pairs=False).couplings() is None


def test_units_start_at_about_the_spread_of_their_inputs():
    torch.manual_seed(0)
    matrix = ResidualEnergy(400, pairs=False, units=100).matrix
    assert float(matrix.detach().std()) == pytest.approx(1 / math.sqrt(400), rel=0.02)


@pytest.mark.parametrize("terms", [{"stacked": True}, {"units": 4, "varying": True}])
def test_logits_beyond_those_that_taught_count_as_the_outermost_of_them(terms):
    logits = random_logits(20)
    energy = random_energy(pairs=False, **terms)
    energy.standardise_by(logits)
    beyond = torch.stack([logits.amin(0) - 50, logits.amax(0) + 50])
    bounds = torch.stack([logits.amin(0), logits.amax(0)])
    field, _, offset = energy.prepare(beyond).terms
    own, _, own_offset = energy.prepare(bounds).terms
    rest = energy.slope * (beyond - bounds)  # of a label's own logit alone
    torch.testing.assert_close(field - own, rest, atol=1e-3, rtol=1e-4)
    if own_offset is not None:
        torch.testing.assert_close(offset, own_offset)


def test_h_is_standardised_and_constant_logits_divide_by_no_zero():
    logits = torch.cat([torch.randn(40, 2) * 3 + 1, torch.full((40, 1), 2.0)], 1)
    energy = ResidualEnergy(3, stacked=True)
    energy.standardise_by(logits)
    torch.testing.assert_close(energy.mean, logits.mean(0))
    torch.testing.assert_close(energy.std[:2], (logits - logits.mean(0)).square().mean(0).sqrt()[:2])
    assert energy.std[2] == pytest.approx(1e-3)
    assert torch.isfinite(energy.prepare(logits).terms[0]).all()
