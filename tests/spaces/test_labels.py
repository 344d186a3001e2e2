"""The label space against enumeration and counting."""

import itertools

import numpy as np
import pytest
import torch

from enstruct.errors import ConfigError
from enstruct.spaces import LabelSpace, LabelVectors
from enstruct.spaces.costs import COSTS
from enstruct.spaces.label_vectors import dense


def every_vector(n: int) -> torch.Tensor:
    return torch.tensor(list(itertools.product([0.0, 1.0], repeat=n)), dtype=torch.float64)


def test_log_prob_sums_to_one_and_matches_the_product():
    logits = torch.randn(3, 5, dtype=torch.float64) * 2
    y = every_vector(5).expand(3, -1, -1)
    for form in (y, LabelVectors.from_dense(y)):
        log_p = LabelSpace(5).log_prob(form, logits)
        torch.testing.assert_close(log_p.exp().sum(1), torch.ones(3, dtype=torch.float64))
        p = torch.sigmoid(logits).unsqueeze(1)
        torch.testing.assert_close(log_p.exp(), torch.where(y > 0, p, 1 - p).prod(-1))


def test_log_prob_ignores_masked_labels():
    logits = torch.randn(2, 4)
    mask = torch.tensor([[1.0, 1, 0, 1], [0, 1, 1, 1]])
    y = torch.tensor([[[1.0, 0, 0, 1]], [[0.0, 1, 1, 0]]])
    space = LabelSpace(4)
    for row in range(2):
        kept = mask[row] > 0
        expected = LabelSpace(3).log_prob(y[row : row + 1, :, kept], logits[row : row + 1, kept])
        torch.testing.assert_close(space.log_prob(y[row : row + 1], logits[row : row + 1], mask[row : row + 1]), expected)


def test_samples_are_exact_independent_bernoullis():
    """Marginals and pair counts within five standard errors, across small, middling, large and extreme p."""
    p = torch.tensor([[0.001, 0.05, 0.3, 0.5, 0.5001, 0.7, 0.95, 0.9995, 0.0, 1.0]])
    logits = torch.logit(p)
    n = 200_000
    y = dense(LabelSpace(10).sample(logits, n))[0].numpy()
    expected = p[0].numpy()
    error = np.sqrt(expected * (1 - expected) / n)
    assert (np.abs(y.mean(0) - expected) <= 5 * error + 1e-9).all()
    pairs, independent = (y.T @ y) / n, np.outer(expected, expected)
    off = ~np.eye(10, dtype=bool)
    assert (np.abs(pairs - independent)[off] <= 5 * np.sqrt(independent * (1 - independent) / n)[off] + 1e-9).all()


def test_joint_distribution_of_samples_matches_enumeration():
    logits = torch.randn(2, 4, dtype=torch.float64)
    n = 100_000
    codes = dense(LabelSpace(4).sample(logits, n)).double() @ torch.tensor([8.0, 4, 2, 1], dtype=torch.float64)
    expected = LabelSpace(4).log_prob(every_vector(4).expand(2, -1, -1), logits).exp()
    for row in range(2):
        seen = torch.bincount(codes[row].long(), minlength=16) / n
        assert (seen - expected[row]).abs().max() < 5 * 0.5 / np.sqrt(n)


def test_masked_labels_are_never_sampled():
    mask = torch.tensor([[1.0, 0, 1]])
    y = dense(LabelSpace(3).sample(torch.full((1, 3), 3.0), 500, mask))
    assert y[..., 1].sum() == 0
    assert y[..., 0].mean() > 0.8


@pytest.mark.parametrize("name", ["soft-f1", "hamming-mean", "hamming-sum"])
def test_costs_by_hand_and_sparse_equals_dense(name):
    space = LabelSpace(4, name)
    truth = torch.tensor([[1.0, 1, 0, 0], [0, 0, 0, 0]])
    y = torch.tensor([[[1.0, 0, 1, 0], [1, 1, 0, 0]], [[0, 0, 0, 0], [1, 0, 0, 0]]])
    by_hand = {
        "soft-f1": [[0.5, 0.0], [0.0, 1.0]],
        "hamming-mean": [[0.5, 0.0], [0.0, 0.25]],
        "hamming-sum": [[2.0, 0.0], [0.0, 1.0]],
    }
    torch.testing.assert_close(space.cost(y, truth), torch.tensor(by_hand[name]))
    torch.testing.assert_close(space.cost(LabelVectors.from_dense(y), truth), torch.tensor(by_hand[name]))


def test_soft_f1_of_relaxed_outputs_is_dvns():
    y, truth = torch.tensor([[[0.5, 0.2]]]), torch.tensor([[1.0, 0.0]])
    # 2 sum min / (sum min + sum max), with sum min + sum max = sum of both
    torch.testing.assert_close(LabelSpace(2).cost(y, truth), torch.tensor([[1 - 2 * 0.5 / (0.5 + 0.0 + 1.0 + 0.2)]]))


@pytest.mark.parametrize("name", [name for name in COSTS if name != "log"])  # which is clipped at the corners
def test_derivatives_at_corners_are_the_closed_forms(name):
    """Discrete samples lie there, and straight-through gradients are taken there."""
    space, y = LabelSpace(4, name), every_vector(4).repeat(2, 1, 1).requires_grad_()
    truth = torch.tensor([[1.0, 0, 0, 1], [0, 1, 1, 1]], dtype=torch.float64)
    (slope,) = torch.autograd.grad(space.cost(y, truth).sum(), y)
    torch.testing.assert_close(slope, space.cost_gradient(y.detach(), truth))


def test_costs_respect_the_mask():
    truth, mask = torch.tensor([[1.0, 0, 1]]), torch.tensor([[1.0, 1, 0]])
    y = torch.tensor([[[1.0, 1, 0]]])
    assert LabelSpace(3, "hamming-sum").cost(y, truth, mask).item() == 1
    assert LabelSpace(3, "hamming-mean").cost(y, truth, mask).item() == 0.5


def test_supervised_loss_weighs_positives_and_masks():
    logits, truth = torch.tensor([[0.0, 0.0]]), torch.tensor([[1.0, 0.0]])
    log2 = float(np.log(2))
    assert LabelSpace(2).supervised_loss(logits, truth).item() == pytest.approx(2 * log2)
    weighted = LabelSpace(2, positive_weight=torch.tensor([3.0, 3.0]))
    assert weighted.supervised_loss(logits, truth).item() == pytest.approx(4 * log2)
    assert LabelSpace(2).supervised_loss(logits, truth, torch.tensor([[1.0, 0.0]])).item() == pytest.approx(log2)


def test_unknown_cost_names_the_nearest():
    with pytest.raises(ConfigError, match="Did you mean 'hamming-mean'"):
        LabelSpace(3, "hamming-men")


def test_relaxed_draws_are_a_sigmoid_of_logits_divided_by_the_temperature():
    torch.manual_seed(0)
    logits = torch.randn(2, 3, dtype=torch.float64, requires_grad=True)
    y = LabelSpace(3).concrete(logits, 4000, 0.2)
    assert torch.allclose((y > 0.5).double().mean(1), torch.sigmoid(logits), atol=0.03)
    (slope,) = torch.autograd.grad(y.sum(), logits)
    torch.testing.assert_close(slope, (y * (1 - y)).sum(1) / 0.2)


def test_the_entropy_of_logits_is_that_of_their_outputs_and_the_enumerated_one():
    torch.manual_seed(0)
    space, logits = LabelSpace(3), torch.randn(2, 1, 3, dtype=torch.float64)
    every = torch.tensor(list(itertools.product([0.0, 1.0], repeat=3)), dtype=torch.float64).expand(2, -1, -1)
    log_p = space.log_prob(every, logits.squeeze(1))
    y = space.relax(logits)
    for entropy in (space.entropy(y), space.entropy(y, logits)):
        torch.testing.assert_close(entropy.squeeze(1), -(log_p.exp() * log_p).sum(1))
