"""SPEN's loss as shipped."""

import torch

from enstruct.energies import GlobalEnergy, LocalEnergy, SumEnergy
from enstruct.inference import Inference, ProjectedAdam
from enstruct.negatives import Situation
from enstruct.spaces import LabelSpace
from enstruct_bench.reproduce.shipped import RelaxedTwice

L = 4


def test_points_are_relaxed_twice_and_found_by_the_energy_alone():
    torch.manual_seed(0)
    energy = SumEnergy(None, [LocalEnergy(3, L), GlobalEnergy(L, 3)]).double()
    x, logits = torch.randn(5, 3, dtype=torch.float64), torch.randn(5, L, dtype=torch.float64)
    truth = (torch.rand(5, L) < 0.5).double()
    at = Situation(logits, truth, None, x, energy, energy.prepare(x))
    source = RelaxedTwice(Inference(ProjectedAdam(0.1), ("predictor",), steps=20))
    space = LabelSpace(L, "soft-f1")
    y = source.build(space, L).draw(at).y
    assert y.shape == (5, 1, L)
    assert ((y >= 0.5) & (y <= torch.sigmoid(torch.ones(()).double()))).all()
    # by hand: Adam on y, clamped, with the gradient of E(x, sigma(y)); the best point by E less the cost, the start among them
    at_y = torch.sigmoid(logits).unsqueeze(1)
    best, best_value = at_y, torch.full((5, 1), torch.inf, dtype=torch.float64)
    rule, memory = ProjectedAdam(0.1), ProjectedAdam(0.1).start(at_y, space)
    for step in range(21):
        point = at_y.clone().requires_grad_()
        value = energy(at.state, torch.sigmoid(point))
        (slope,) = torch.autograd.grad(value.sum(), point)
        score = (value - space.cost(torch.sigmoid(at_y), truth)).detach()
        best = torch.where((score < best_value).unsqueeze(-1), at_y, best)
        best_value = torch.minimum(score, best_value)
        if step < 20:
            memory, at_y = rule.step(memory, at_y, slope, space)
    torch.testing.assert_close(y, torch.sigmoid(best))
