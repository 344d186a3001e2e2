"""Unrolled inference: deep mean field against coordinate updates enumerated from its definition."""

import itertools

import pytest
import torch

from enstruct.energies import ConditionalPairwiseEnergy, LocalEnergy, PairwiseEnergy, SumEnergy
from enstruct.errors import ConfigError
from enstruct.inference import MEAN_FIELD, Inference, MirrorDescent, Unrolled
from enstruct.spaces import LabelSpace

B, L, F = 4, 5, 3


def a_field(conditional: bool):
    torch.manual_seed(0)
    pairwise = ConditionalPairwiseEnergy(F, L, 2) if conditional else PairwiseEnergy(L, None, diagonal=False)
    energy = SumEnergy(None, [LocalEnergy(F, L), pairwise]).double()
    with torch.no_grad():
        for parameter in energy.parameters():
            parameter.normal_()
    return energy, energy.prepare(torch.randn(B, F, dtype=torch.float64))


def expected_log_odds(energy, state, q: torch.Tensor) -> torch.Tensor:
    """(batch, labels) E_{y_-i ~ q}[ E(y_i = 0, y_-i) - E(y_i = 1, y_-i) ], every neighbour's setting enumerated."""
    odds = torch.zeros(B, L, dtype=torch.float64)
    for i in range(L):
        others = [j for j in range(L) if j != i]
        for setting in itertools.product([0.0, 1.0], repeat=L - 1):
            y = torch.zeros(2, L, dtype=torch.float64)
            y[:, others] = torch.tensor(setting, dtype=torch.float64)
            y[1, i] = 1
            chance = torch.where(y[0, others] == 1, q[:, others], 1 - q[:, others]).prod(1)
            value = energy(state, y.expand(B, 2, L))
            odds[:, i] += chance * (value[:, 0] - value[:, 1])
    return odds


@pytest.mark.parametrize("conditional", [False, True])
def test_a_step_of_mean_field_is_the_enumerated_coordinate_update(conditional):
    energy, state = a_field(conditional)
    q = torch.full((B, L), 0.5, dtype=torch.float64)
    for iterate in MEAN_FIELD.iterates(energy, state, LabelSpace(L)):
        q = torch.sigmoid(expected_log_odds(energy, state, q))
        torch.testing.assert_close(iterate.detach(), q)


def test_the_published_update_is_another():
    """SPEN's algorithm 1, y <- sigma(A y - diag(A) + C), loses the factor 2 of a symmetric A."""
    energy, state = a_field(False)
    A, C = -energy.terms[1].interactions(), -(state.terms[0] + energy.terms[1].linear)
    q = torch.full((B, L), 0.5, dtype=torch.float64)
    ours = Unrolled(MirrorDescent(1.0, 0.0), 1, "uniform", 1.0).iterates(energy, state, LabelSpace(L))[0]
    torch.testing.assert_close(ours, torch.sigmoid(2 * q @ A + C))
    assert (ours - torch.sigmoid(q @ A - A.diagonal() + C)).abs().max() > 0.01


def test_the_answer_is_the_last_iterate_with_its_objective():
    energy, state = a_field(False)
    space = LabelSpace(L)
    how = Unrolled(MirrorDescent(0.4, 0.5), steps=7, temperature=0.5).resolve(torch.rand(B, L, dtype=torch.float64))
    solution = how.solve(energy, state, space)
    torch.testing.assert_close(solution.y, how.iterates(energy, state, space)[-1].detach())
    objective = energy(state, solution.y.unsqueeze(1)).squeeze(1) - 0.5 * space.entropy(solution.y.unsqueeze(1)).squeeze(1)
    torch.testing.assert_close(solution.energy, objective.detach())
    assert (solution.steps == 7).all()
    assert not solution.y.requires_grad
    longer = Inference(MirrorDescent(0.4, 0.5), (how.start,), steps=7, temperature=0.5).solve(energy, state, space)
    assert (longer.energy <= solution.energy + 1e-4).all()  # the loop keeps its best iterate


@pytest.mark.parametrize("make", [lambda: Unrolled(steps=0), lambda: Unrolled(start="there")])
def test_impossible_settings_are_refused(make):
    with pytest.raises(ConfigError, match=r"start of inference|steps must be a whole number from 1"):
        make()


def test_no_cost_augmentation():
    energy, state = a_field(False)
    with pytest.raises(ConfigError, match="cost-augmented"):
        MEAN_FIELD.solve(energy, state, LabelSpace(L), torch.zeros(B, L))
