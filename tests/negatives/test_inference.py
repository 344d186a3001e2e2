"""Candidates by inference, against enumeration and the definitions."""

import itertools

import pytest
import torch

from enstruct.energies import GlobalEnergy, LocalEnergy, SumEnergy
from enstruct.errors import ConfigError
from enstruct.inference import Inference, MirrorDescent, ProjectedAdam, ProjectedGradient, Unrolled
from enstruct.negatives import InferencePoint, Situation, UnrolledIterates, ValueTuples
from enstruct.spaces import LabelSpace

L = 4


def situation(cost: str = "hamming-sum"):
    torch.manual_seed(0)
    energy = SumEnergy(None, [LocalEnergy(3, L), GlobalEnergy(L, 3)]).double()
    x = torch.randn(5, 3, dtype=torch.float64)
    truth = (torch.rand(5, L) < 0.5).double()
    logits = torch.randn(5, L, dtype=torch.float64, requires_grad=True)
    return LabelSpace(L, cost), Situation(logits, truth, None, x, energy, energy.prepare(x))


@pytest.mark.parametrize("augmented", [True, False])
def test_the_point_is_the_minimiser(augmented):
    space, at = situation()
    how = Inference(MirrorDescent(0.3, 0.9), ("predictor", "uniform", "random", "random"), steps=300)
    y = InferencePoint(how, augmented).build(space, L).draw(at).y
    assert y.shape == (5, 1, L)
    assert not y.requires_grad
    corners = torch.tensor(list(itertools.product([0.0, 1.0], repeat=L)), dtype=torch.float64).expand(5, -1, -1)

    def objective(candidates):
        return at.energy(at.state, candidates) - augmented * space.cost(candidates, at.truth)

    assert (objective(y).squeeze(1) <= objective(corners).min(1).values + 1e-3).all()


def test_tuples_are_inference_adversary_and_truth():
    space, at = situation("soft-f1")
    y = ValueTuples(Inference(ProjectedGradient(0.5), ("zeros",), 20, as_value=True)).build(space, L).draw(at).y
    assert y.shape == (5, 3, L)
    assert not y.requires_grad
    torch.testing.assert_close(y[:, 2], at.truth)
    assert ((y >= 0) & (y <= 1)).all()


def test_the_adversary_raises_the_regression_loss():
    """A small step from where it starts (the truth or zeros) climbs CE(v, q) with q held fixed."""
    space, at = situation("soft-f1")
    source = ValueTuples(rate=1e-3).build(space, L)
    torch.manual_seed(3)
    moved = source.draw(at).y[:, 1]
    start = (moved > 0.5).double()  # a step of 1e-3 leaves the corner it began at recognisable

    def loss(y):
        value = torch.sigmoid(-at.energy(at.state, y.unsqueeze(1))).squeeze(1)
        target = 1 - space.cost(start.unsqueeze(1), at.truth).squeeze(1)
        return torch.nn.functional.binary_cross_entropy(value, target, reduction="none")

    assert (loss(moved) >= loss(start) - 1e-12).all()
    assert (loss(moved) > loss(start)).any()


def test_an_adversary_by_another_rule_is_the_worst_point_on_its_way():
    """Against torch's own Adam on -CE(v, q), clamped, with the gradient of v alone."""
    space, at = situation("soft-f1")
    source = ValueTuples(adversarial=ProjectedAdam(0.2), adversarial_steps=7).build(space, L)
    adversarial = source.draw(at).y[:, 1]
    y = torch.nn.Parameter(torch.zeros(5, 1, L, dtype=torch.float64))
    optimizer, points, losses = torch.optim.Adam([y], lr=0.2), [], []
    for _ in range(7):
        value = torch.sigmoid(-at.energy(at.state.detached(), y))
        target = 1 - space.cost(y.detach(), at.truth)
        loss = torch.nn.functional.binary_cross_entropy(value, target, reduction="none")
        points.append(y.detach().clone().squeeze(1))
        losses.append(loss.detach().squeeze(1))
        optimizer.zero_grad()
        (-loss.sum()).backward()
        optimizer.step()
        with torch.no_grad():
            y.clamp_(0, 1)
    worst = torch.stack(losses).argmax(0)
    assert worst.any()  # for some row the start is not the worst
    torch.testing.assert_close(adversarial, torch.stack(points)[worst, torch.arange(5)])


def test_unrolled_gradient_is_the_finite_difference():
    space, at = situation("log")
    source = UnrolledIterates(Unrolled(MirrorDescent(0.4, 0.5), steps=4, temperature=1.0), keep=2).build(space, L)
    parameter = at.energy.terms[1].measurements.matrix

    def loss():
        fresh = at._replace(state=at.energy.prepare(at.x))
        y = source.draw(fresh).y
        assert y.shape == (5, 2, L)
        return space.cost(y, at.truth).sum()

    (gradient,) = torch.autograd.grad(loss(), parameter)
    for index in [(0, 0), (1, 2), (3, 1)]:
        with torch.no_grad():
            parameter[index] += 1e-6
            up = loss()
            parameter[index] -= 2e-6
            down = loss()
            parameter[index] += 1e-6
        assert float(gradient[index]) == pytest.approx(float(up - down) / 2e-6, rel=1e-4, abs=1e-7)


@pytest.mark.parametrize(
    "make",
    [
        lambda: ValueTuples(rate=0),
        lambda: UnrolledIterates(Unrolled(steps=3), keep=4),
        lambda: UnrolledIterates(keep=0),
        lambda: Unrolled(start="somewhere"),
    ],
)
def test_impossible_settings_are_refused(make):
    with pytest.raises(ConfigError):
        make()


class Visits:
    """A rule that goes where it is told, whatever the gradient says."""

    keeps_logits = False

    def __init__(self, *points):
        self.points = points

    def start(self, y, space):
        self.left = iter(self.points)
        return ()

    def step(self, memory, y, gradient, space):
        return (), torch.full_like(y, next(self.left))


def test_the_worst_point_stays_the_worst_when_the_loss_falls_and_rises_again():
    space, at = situation("soft-f1")

    def loss(level):
        y = torch.full((5, 1, L), level, dtype=torch.float64)
        value = torch.sigmoid(-at.energy(at.state, y))
        return torch.nn.functional.binary_cross_entropy(value, 1 - space.cost(y, at.truth), reduction="none").squeeze(1)

    levels = (0.0, 1.0, 0.0, 0.4)  # of the start and of what is visited before the last step
    worst = torch.stack([loss(level) for level in levels]).argmax(0)
    again = loss(0.4) > loss(0.0)
    assert (again & (worst == 1)).any()  # some rows rise again to less than they had
    adversarial = ValueTuples(adversarial=Visits(1.0, 0.0, 0.4, 0.5), adversarial_steps=4).build(space, L).draw(at).y[:, 1]
    torch.testing.assert_close(adversarial, torch.tensor(levels, dtype=torch.float64)[worst].unsqueeze(1).expand(5, L))


def test_unrolled_candidates_are_the_last_iterates():
    space, at = situation()
    how = Unrolled(MirrorDescent(0.4, 0.5), steps=4)
    y = UnrolledIterates(how, keep=2).build(space, L).draw(at).y
    every = how.resolve(space.relax(at.logits)).iterates(at.energy, at.state, space)
    torch.testing.assert_close(y, torch.stack(every[-2:], dim=1))
    assert not torch.allclose(every[0], every[-1])


def test_of_unrolled_iterates_the_last_is_kept():
    space, at = situation("log")
    how = Unrolled(MirrorDescent(0.4, 0.5), steps=4)
    y = UnrolledIterates(how).build(space, L).draw(at).y
    torch.testing.assert_close(y, how.resolve(space.relax(at.logits)).iterates(at.energy, at.state, space)[-1].unsqueeze(1))
