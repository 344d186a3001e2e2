"""What every output space promises, against enumeration and finite differences, whatever its outputs are."""

import itertools

import pytest
import torch

from enstruct.errors import ConfigError
from enstruct.spaces.label_vectors import dense
from enstruct.tasks import TASKS

N, BATCH = 3, 2
PLACES = {"labels": (), "tags": (3,), "masks": (2, 2)}


@pytest.fixture(params=TASKS)
def task(request):
    torch.manual_seed(0)
    return TASKS[request.param]


def shape(task):
    return (BATCH, *PLACES[task.name], N)


def every_output(task):
    """(outputs, *places, N): all of them, 0/1."""
    if task.name == "labels":
        return torch.tensor(list(itertools.product((0.0, 1.0), repeat=N)), dtype=torch.float64)
    n_places = torch.zeros(PLACES[task.name]).numel()
    numbers = torch.tensor(list(itertools.product(range(N), repeat=n_places)))
    return torch.eye(N, dtype=torch.float64)[numbers].view(-1, *PLACES[task.name], N)


def drawn(task, *lead):
    return torch.randn(*lead, *shape(task), dtype=torch.float64)


def test_probabilities_of_all_outputs_sum_to_one_and_marginals_are_the_relaxed_output(task):
    space, logits = task.space(N, task.costs[0]), drawn(task)
    y = every_output(task).expand(BATCH, *([-1] * (1 + len(shape(task)) - 1)))
    p = space.log_prob(y, logits).exp()  # (batch, outputs)
    assert torch.allclose(p.sum(1), torch.ones(BATCH, dtype=torch.float64))
    marginals = (p.view(*p.shape, *[1] * (y.ndim - 2)) * y).sum(1)
    assert torch.allclose(marginals, space.relax(logits))


def test_samples_have_the_relaxed_output_as_their_mean(task):
    space, logits = task.space(N, task.costs[0]), drawn(task).float()
    y = dense(space.sample(logits, 20_000))
    assert y.shape == (BATCH, 20_000, *shape(task)[1:])
    assert set(y.unique().tolist()) <= {0.0, 1.0}
    assert torch.allclose(y.float().mean(1), space.relax(logits), atol=0.03)


def test_projections_lie_in_the_space_and_leave_what_does(task):
    space = task.space(N, task.costs[0])
    y = space.project(3 * drawn(task).unsqueeze(1))
    assert space.contains(y)
    assert torch.allclose(space.project(y), y, atol=1e-9)
    relaxed = space.relax(drawn(task)).unsqueeze(1)
    assert torch.allclose(space.relax(space.unrelax(relaxed)), relaxed, atol=1e-5)
    decided = space.decide(relaxed).to(relaxed)
    assert torch.equal(space.decide(decided), space.decide(relaxed))


def test_costs_are_zero_at_the_truth_alone_and_their_gradients_are_slopes(task):
    outputs = every_output(task)
    for name in task.costs:
        space = task.space(N, name)
        truth = outputs[[1, 2]]
        costs = space.cost(outputs.expand(BATCH, *outputs.shape), truth)  # (batch, outputs)
        assert (costs.argmin(1) == torch.tensor([1, 2])).all(), name
        assert costs.min() >= -1e-6, name
        y = space.relax(drawn(task)).unsqueeze(1).requires_grad_()
        slope = torch.autograd.grad(space.cost(y, truth).sum(), y)[0]
        assert torch.allclose(space.cost_gradient(y.detach(), truth), slope, atol=1e-6), name


def test_entropy_is_that_of_the_enumerated_distribution_and_its_gradient_a_slope(task):
    space, logits = task.space(N, task.costs[0]), drawn(task)
    y = every_output(task).expand(BATCH, *([-1] * len(shape(task))))
    p = space.log_prob(y, logits).exp()
    relaxed = space.relax(logits).unsqueeze(1)
    negative = (p * p.log()).sum(1)  # minus the entropy: what inference adds to an energy
    value = space.entropy(relaxed).squeeze(1)
    assert torch.allclose(value, negative) or torch.allclose(value, -negative)
    at = relaxed.clone().requires_grad_()
    slope = torch.autograd.grad(space.entropy(at).sum(), at)[0]
    mine = space.entropy_gradient(relaxed)
    difference = mine - slope
    if task.places:  # on the simplex a constant over the classes of a place is no direction
        difference = difference - difference.mean(-1, keepdim=True)
    assert torch.allclose(difference, torch.zeros_like(difference), atol=1e-6)


def test_the_supervised_loss_is_minus_the_log_probability(task):
    space, logits, truth = task.space(N, task.costs[0]), drawn(task), every_output(task)[[1, 2]]
    scale = torch.zeros(PLACES["masks"]).numel() if task.name == "masks" else 1  # a mean over pixels there
    expected = -space.log_prob(truth.unsqueeze(1), logits).squeeze(1) / scale
    assert torch.allclose(space.supervised_loss(logits, truth), expected)


def test_an_unknown_cost_is_named(task):
    with pytest.raises(ConfigError, match="Did you mean 'hamming-mean'"):
        task.space(N, "hamming-meen")
