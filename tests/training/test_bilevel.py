"""One batch as a bilevel problem: both its losses by hand, and its gradient by what the predictor does when the energy moves."""

import pytest
import torch
from torch.func import functional_call

from enstruct.encoders import MLP, Predictor
from enstruct.energies import EnergySpec, build_energy
from enstruct.hypergradients import Implicit, Neumann
from enstruct.hypergradients.curvature import GaussNewton
from enstruct.methods import METHODS
from enstruct.spaces import LabelSpace
from enstruct.training.batches import Batch
from enstruct.training.bilevel import batch_problem, differentiating
from enstruct.training.learned_loss import LearnedLoss
from enstruct.training.settings import Settings

ROW_WEIGHT = torch.tensor([0.5, 2.0, 0.0, 1.5, 1.0, 1.0], dtype=torch.float64)


def a_game(method="implicit-ssvm", **changes):
    """A batch with row weights, a learned loss and a predictor, in double precision."""
    torch.manual_seed(0)
    predictor = Predictor(MLP(4, 5, 1, 0.0), 3).double()
    energy = build_energy(EnergySpec(units=4), predictor.encoder, MLP(4, 5, 1, 0.0), 3).double()
    loss = LearnedLoss(METHODS[method].with_(**changes), LabelSpace(3), energy, 3, Settings(), predictor)
    x, y = torch.randn(6, 4, dtype=torch.float64), (torch.rand(6, 3) < 0.5).double()
    return Batch(x, y, weight=ROW_WEIGHT), loss, predictor


def answer_of(predictor, theta, x):
    names = [name for name, _ in predictor.named_parameters()]
    return functional_call(predictor, dict(zip(names, theta, strict=True)), (x,))


def moved(theta):
    return tuple((p + 0.1 * torch.randn_like(p)).detach().requires_grad_() for p in theta)


@pytest.mark.parametrize("weight", [0.0, 0.3, 2.5])
@pytest.mark.parametrize("anchor_weight", [0.0, 0.7])
def test_the_inner_loss_is_cross_entropy_plus_weighted_energy_plus_anchor(weight, anchor_weight):
    batch, loss, predictor = a_game(anchor_weight=anchor_weight)
    start = {name: p.detach().clone() + 0.2 for name, p in predictor.named_parameters()}
    problem = batch_problem(predictor, loss, batch, weight, start if anchor_weight else {})
    theta = moved(problem.theta)
    logits = answer_of(predictor, theta, batch.x)
    entropy = torch.nn.functional.binary_cross_entropy_with_logits(logits, batch.y, reduction="none").sum(1)
    energy = loss.network(loss.network.prepare(batch.x), torch.sigmoid(logits).unsqueeze(1)).squeeze(1)
    rows = (entropy + weight * energy) * ROW_WEIGHT
    drift = sum((p - q).square().sum() for p, q in zip(theta, start.values(), strict=True))
    torch.testing.assert_close(problem.inner(theta), rows.sum() / 6 + anchor_weight * drift)


def test_the_outer_loss_is_the_weighted_mean_of_the_margins():
    batch, loss, predictor = a_game()
    problem = batch_problem(predictor, loss, batch, 0.3, {})
    theta = moved(problem.theta)
    point = torch.sigmoid(answer_of(predictor, theta, batch.x)).unsqueeze(1)
    state = loss.network.prepare(batch.x)
    cost = LabelSpace(3).cost(point, batch.y)[:, 0]
    margin = cost - loss.network(state, point)[:, 0] + loss.network(state, batch.y.unsqueeze(1))[:, 0]
    torch.testing.assert_close(problem.outer(theta), (margin.clamp(min=0) * ROW_WEIGHT).sum() / 6)


@pytest.mark.parametrize("weight", [0.3, 2.5])
def test_the_implicit_gradient_is_that_of_one_gradient_step_of_the_inner_loss(weight):
    """One Neumann term at scale c is theta - (1/c) ∂theta L_aux taken at its word: central differences in the energy's weights.

    L_aux is written out here, so the energy's weight in it is this test's own.
    """
    batch, loss, predictor = a_game()
    scale, reach = 5.0, 1e-6
    with differentiating(predictor, batch.x):
        problem = batch_problem(predictor, loss, batch, weight, {})
        found = Implicit(Neumann(1, scale)).gradient(problem).gradient
    theta, phi = problem.theta, problem.phi

    def inner_slope():
        logits = answer_of(predictor, theta, batch.x)
        energy = loss.network(loss.network.prepare(batch.x), torch.sigmoid(logits).unsqueeze(1)).squeeze(1)
        entropy = torch.nn.functional.binary_cross_entropy_with_logits(logits, batch.y, reduction="none").sum(1)
        return torch.autograd.grad(((entropy + weight * energy) * ROW_WEIGHT).mean(), theta)

    outer_slope = torch.autograd.grad(problem.outer(theta), theta, retain_graph=True)
    explicit = torch.autograd.grad(problem.outer(theta), phi, retain_graph=True, allow_unused=True)
    largest = 0.0
    for parameter, got, plain in zip(phi, found, explicit, strict=True):
        with torch.no_grad():
            at = parameter.view(-1)[0].item()
        slopes = []
        for side in (1, -1):
            with torch.no_grad():
                parameter.view(-1)[0] = at + side * reach
            slopes.append(inner_slope())
        with torch.no_grad():
            parameter.view(-1)[0] = at
        change = sum(((a - b) * o).sum() for a, b, o in zip(*slopes, outer_slope, strict=True)) / (2 * reach)
        expected = (0.0 if plain is None else float(plain.view(-1)[0])) - float(change) / scale
        assert (0.0 if got is None else float(got.reshape(-1)[0])) == pytest.approx(expected, rel=1e-5, abs=1e-8)
        largest = max(largest, abs(float(change)) / scale)
    assert largest > 1e-4  # the reaction has something to say


def test_gauss_newton_sees_the_weighted_supervised_loss_behind_the_predictors_logits():
    batch, loss, predictor = a_game()
    problem = batch_problem(predictor, loss, batch, 0.3, {})
    theta = moved(problem.theta)
    logits = answer_of(predictor, theta, batch.x)
    torch.testing.assert_close(problem.logits(theta), logits)
    entropy = torch.nn.functional.binary_cross_entropy_with_logits(logits, batch.y, reduction="none").sum(1)
    torch.testing.assert_close(problem.supervised(logits), (entropy * ROW_WEIGHT).sum() / 6)
    v = torch.randn(sum(p.numel() for p in theta), dtype=torch.float64)
    flat = torch.cat([p.detach().reshape(-1) for p in problem.theta])

    def out(at):
        parts = at.split([p.numel() for p in problem.theta])
        return answer_of(predictor, [part.view_as(p) for part, p in zip(parts, problem.theta, strict=True)], batch.x).flatten()

    jacobian = torch.autograd.functional.jacobian(out, flat)
    own = torch.sigmoid(out(flat)) * (1 - torch.sigmoid(out(flat))) * (ROW_WEIGHT / 6).repeat_interleave(3)
    torch.testing.assert_close(GaussNewton(problem).product(v), jacobian.T @ (own * (jacobian @ v)))


def test_without_a_supervised_loss_gauss_newton_is_the_damping():
    batch, loss, predictor = a_game(supervised_weight=0.0)
    problem = batch_problem(predictor, loss, batch, 0.3, {})
    v = torch.ones(sum(p.numel() for p in problem.theta), dtype=torch.float64)
    torch.testing.assert_close(GaussNewton(problem, damping=0.4).product(v), 0.4 * v)
