"""Inference's free energies against enumeration."""

from dataclasses import replace

import pytest
import torch

from enstruct.energies import BeliefEnergy, LocalEnergy, PairwiseEnergy, SumEnergy
from enstruct.energies.beliefs import PACE
from enstruct.energies.flow import FlowEnergy
from enstruct.errors import ConfigError
from enstruct.inference import Exact, Inference, MirrorDescent, minimise
from enstruct.inference.exact import all_label_sets
from enstruct.negatives import FreeEnergy, Normalised, Situation
from enstruct.objectives import LIKELIHOOD, Scores
from enstruct.spaces import LabelSpace

L = 4
SETTLED = FreeEnergy(Inference(MirrorDescent(0.5, 0.0), ("predictor",), steps=300, temperature=1.0))


def situation(term, chain: bool = False):
    torch.manual_seed(0)
    torch.nn.init.normal_(term.factor, std=1 / PACE if isinstance(term, BeliefEnergy) else 1)
    if chain:
        with torch.no_grad():
            term.factor.mul_(torch.diag(torch.ones(L - 1), 1))
    energy = SumEnergy(None, [LocalEnergy(3, L), term]).double()
    x = torch.randn(5, 3, dtype=torch.float64)
    truth = (torch.rand(5, L) < 0.5).double()
    return Situation(torch.randn(5, L, dtype=torch.float64), truth, None, x, energy, energy.prepare(x))


def log_partition(at):
    return torch.logsumexp(-at.energy(at.state, all_label_sets(L).double().expand(5, -1, -1)), 1)


def test_beliefs_of_a_chain_give_the_likelihood_and_its_gradient():
    at = situation(BeliefEnergy(L), chain=True)
    free = SETTLED.draw(at, LabelSpace(L)).energies.squeeze(1)
    truth = at.energy(at.state, at.truth.unsqueeze(1)).squeeze(1)
    linked = at.energy.part("beliefs").factor != 0  # to Bethe, pairs that are not linked are independent
    gradients = []
    for loss in (LIKELIHOOD.loss(Scores(truth, free.unsqueeze(1))), truth + log_partition(at)):
        torch.testing.assert_close(loss, truth + log_partition(at), atol=1e-6, rtol=0)
        slopes = dict(
            zip(
                [name for name, _ in at.energy.named_parameters()],
                torch.autograd.grad(loss.sum(), list(at.energy.parameters()), retain_graph=True),
                strict=True,
            )
        )
        gradients.append({name: slope[linked] if name.endswith("factor") else slope for name, slope in slopes.items()})
    torch.testing.assert_close(*gradients, atol=1e-4, rtol=0)


def test_products_bound_it_from_above():
    at = situation(PairwiseEnergy(L, None, diagonal=False))
    assert (SETTLED.draw(at, LabelSpace(L)).energies.squeeze(1) >= -log_partition(at) - 1e-9).all()


def test_what_is_no_free_energy_is_refused():
    with pytest.raises(ConfigError, match="temperature"):
        FreeEnergy(Inference(temperature=0.0))
    with pytest.raises(ConfigError, match="an Inference with a temperature"):
        FreeEnergy(Exact())
    with pytest.raises(ConfigError, match="as_value"):
        FreeEnergy(Inference(temperature=1.0, as_value=True))


def test_where_all_sums_to_one_there_is_nothing_to_take_off():
    at = situation(BeliefEnergy(L))
    flow = at._replace(energy=SumEnergy(None, [FlowEnergy(3, 2)]))
    assert torch.equal(Normalised().draw(flow, LabelSpace(L)).energies, torch.zeros(5, 1, dtype=torch.float64))
    with pytest.raises(ConfigError, match="sums to one"):
        Normalised().draw(at, LabelSpace(L))


def test_the_entropy_counts_as_the_inference_has_it():
    at = situation(BeliefEnergy(L), chain=True)
    half = FreeEnergy(replace(SETTLED.inference, temperature=0.5)).draw(at, LabelSpace(L)).energies
    y = minimise(at.energy, at.state, LabelSpace(L), settings=replace(SETTLED.inference, starts=("uniform",), temperature=0.5)).y
    expected = at.energy(at.state, y.unsqueeze(1)) - 0.5 * LabelSpace(L).entropy(y.unsqueeze(1))
    torch.testing.assert_close(half, expected, atol=1e-4, rtol=0)
