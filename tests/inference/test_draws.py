"""Answers by draws."""

import pytest
import torch

from enstruct.energies import LocalEnergy, SumEnergy
from enstruct.energies.flow import FlowEnergy
from enstruct.errors import ConfigError
from enstruct.inference import MeanOfDraws
from enstruct.randomness import seeded
from enstruct.spaces import MaskSpace


def problem(known=None):
    torch.manual_seed(0)
    energy = SumEnergy(None, [FlowEnergy(3, 2, units=4)]).eval()
    return energy, energy.prepare(torch.randn(2, 4, 4, 3), known)


def test_the_answer_is_the_mean_of_draws_and_always_the_same():
    energy, state = problem()
    solution = MeanOfDraws(7).solve(energy, state, MaskSpace(2, "soft-iou"))
    with seeded(0):
        torch.testing.assert_close(solution.y, energy.terms[0].draw(state.terms[0], 7).mean(1))
    torch.testing.assert_close((7 * solution.y).round(), 7 * solution.y)
    assert torch.equal(MeanOfDraws(7).solve(energy, state, MaskSpace(2, "soft-iou")).y, solution.y)
    torch.testing.assert_close(solution.energy, energy(state, solution.y.unsqueeze(1)).squeeze(1))


def test_unknown_pixels_stay_empty():
    known = (torch.arange(4) < 3).float().view(1, 4, 1, 1).expand(2, 4, 4, 1)
    energy, state = problem(known)
    assert (MeanOfDraws(3).solve(energy, state, MaskSpace(2, "soft-iou")).y[:, 3] == 0).all()


def test_energies_that_cannot_draw_and_costs_are_refused():
    energy, state = problem()
    with pytest.raises(ConfigError, match="augment"):
        MeanOfDraws().solve(energy, state, MaskSpace(2, "soft-iou"), torch.zeros(2, 4, 4, 2))
    local = SumEnergy(None, [LocalEnergy(3, 2)])
    with pytest.raises(ConfigError, match="only term is 'flow'"):
        MeanOfDraws().solve(local, local.prepare(torch.randn(2, 4, 4, 3)), MaskSpace(2, "soft-iou"))
    with pytest.raises(ConfigError, match="n"):
        MeanOfDraws(0)
