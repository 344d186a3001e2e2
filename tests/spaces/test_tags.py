"""The tag space against enumeration of every sequence, with holes anywhere."""

import itertools

import pytest
import torch

from enstruct.errors import ConfigError
from enstruct.spaces import TagSpace
from enstruct.spaces.simplex import COSTS

K, T = 3, 4
MASKS = [[1, 1, 1, 1], [0, 1, 1, 1], [1, 0, 1, 0], [0, 0, 0, 0]]


def every_sequence(mask):
    """(sequences, time, tags) one-hot, zero in holes; each distinct sequence of the existing places once."""
    places = [t for t in range(T) if mask[t]]
    out = torch.zeros(K ** len(places), T, K, dtype=torch.float64)
    for i, tags in enumerate(itertools.product(range(K), repeat=len(places))):
        for t, k in zip(places, tags, strict=True):
            out[i, t, k] = 1
    return out


@pytest.fixture
def logits():
    torch.manual_seed(0)
    return torch.randn(len(MASKS), T, K, dtype=torch.float64)


@pytest.fixture
def mask():
    return torch.tensor(MASKS, dtype=torch.float64).unsqueeze(-1)


def test_probabilities_sum_to_one_over_the_sequences_that_exist(logits, mask):
    space = TagSpace(K)
    for b, row in enumerate(MASKS):
        y = every_sequence(row).unsqueeze(0)
        total = space.log_prob(y, logits[b : b + 1], mask[b : b + 1]).exp().sum()
        assert total == pytest.approx(1.0, abs=1e-12)


def test_the_supervised_loss_counts_existing_places_alone(logits, mask):
    space = TagSpace(K)
    truth = torch.eye(K, dtype=torch.float64)[torch.randint(K, (len(MASKS), T))] * mask
    by_hand = [-sum(logits[b, t].log_softmax(-1) @ truth[b, t] for t in range(T) if MASKS[b][t]) for b in range(len(MASKS))]
    assert torch.allclose(
        space.supervised_loss(logits, truth, mask), torch.tensor([float(v) for v in by_hand], dtype=torch.float64)
    )


def test_samples_have_the_marginals_and_no_tags_in_holes(logits, mask):
    space = TagSpace(K)
    torch.manual_seed(1)
    y = space.sample(logits, 20000, mask)
    assert y.shape == (len(MASKS), 20000, T, K)
    assert torch.allclose(y.sum(-1), mask.squeeze(-1).unsqueeze(1).expand(-1, 20000, -1))
    assert torch.allclose(y.mean(1), space.relax(logits) * mask, atol=0.015)


def test_concrete_samples_are_on_the_simplex_and_lean_to_the_marginals(logits):
    torch.manual_seed(1)
    y = TagSpace(K).concrete(logits.requires_grad_(), 4000, 0.1)
    assert torch.allclose(y.sum(-1), torch.ones_like(y[..., 0]))
    assert torch.allclose(y.mean(1), TagSpace(K).relax(logits), atol=0.04)
    (slope,) = torch.autograd.grad(y.sum(1)[..., 0].sum(), logits)
    first = torch.eye(K, dtype=torch.float64)[0]
    torch.testing.assert_close(slope, (y[..., :1] * (first - y)).sum(1) / 0.1)  # a softmax's, of logits divided by 0.1


@pytest.mark.parametrize("name", COSTS)
def test_costs_are_zero_at_the_truth_and_their_gradients_right(name, mask):
    space = TagSpace(K, name)
    truth = torch.eye(K, dtype=torch.float64)[torch.randint(K, (len(MASKS), T))] * mask
    assert torch.allclose(space.cost(truth.unsqueeze(1), truth, mask), torch.zeros(len(MASKS), 1, dtype=torch.float64), atol=1e-5)
    y = torch.softmax(torch.randn(len(MASKS), 2, T, K, dtype=torch.float64), -1).requires_grad_()
    (slope,) = torch.autograd.grad(space.cost(y, truth, mask).sum(), y)
    assert torch.allclose(space.cost_gradient(y, truth, mask).expand_as(slope), slope)


def test_the_token_cost_counts_wrong_tokens():
    truth = torch.eye(K)[torch.tensor([[0, 1, 2, 0]])]
    y = torch.eye(K)[torch.tensor([[[0, 1, 0, 1]]])]
    assert TagSpace(K, "hamming-sum").cost(y, truth) == 2
    assert TagSpace(K, "hamming-mean").cost(y, truth) == 0.5


def test_entropy_against_the_enumerated_one(logits, mask):
    space = TagSpace(K)
    p = space.relax(logits).unsqueeze(1)
    for b, row in enumerate(MASKS):
        log_p = space.log_prob(every_sequence(row).unsqueeze(0), logits[b : b + 1], mask[b : b + 1])
        enumerated = -(log_p.exp() * log_p).sum()
        assert space.entropy((p * mask.unsqueeze(1))[b : b + 1]).item() == pytest.approx(float(enumerated), abs=1e-9)


def test_the_entropy_of_a_certain_tagger_has_a_slope():
    """A softmax that underflows to exact zeros must not make the gradient NaN."""
    z = torch.tensor([[[200.0, 0.0, -200.0]]], requires_grad=True)
    space = TagSpace(K)
    (slope,) = torch.autograd.grad(space.entropy(space.relax(z).unsqueeze(1)).sum(), z)
    torch.testing.assert_close(slope, torch.zeros_like(slope))


def test_projection_is_the_nearest_point_of_the_simplex():
    torch.manual_seed(0)
    space, y = TagSpace(K), 2 * torch.randn(1, 1, 50, K, dtype=torch.float64)
    projected = space.project(y)
    grid = torch.tensor([(a, b, 200 - a - b) for a in range(201) for b in range(201 - a)], dtype=torch.float64) / 200
    nearest = ((y[0, 0].unsqueeze(1) - grid) ** 2).sum(-1).min(1).values
    assert space.contains(projected)
    assert (((projected - y) ** 2).sum(-1)[0, 0] <= nearest + 1e-9).all()
    inside = torch.softmax(y, -1)
    assert torch.allclose(space.project(inside), inside)


def test_logits_and_back(logits):
    space, y = TagSpace(K), torch.softmax(torch.randn(2, 1, T, K, dtype=torch.float64), -1)
    assert torch.allclose(space.relax(space.unrelax(y)), y)
    z = logits.clone().requires_grad_()
    gradient = torch.randn_like(z)
    (expected,) = torch.autograd.grad((space.relax(z) * gradient).sum(), z)
    assert torch.allclose(space.pull_back(space.relax(z), gradient), expected)


def test_decisions_leave_holes_empty():
    y = torch.tensor([[[[0.2, 0.5, 0.3], [0.0, 0.0, 0.0]]]])
    assert TagSpace(K).decide(y).tolist() == [[[[False, True, False], [False, False, False]]]]


def test_unknown_cost():
    with pytest.raises(ConfigError, match="hamming-sum"):
        TagSpace(K, "soft-f1")


def test_a_class_that_is_ruled_out_costs_nothing_where_another_stands(logits, mask):
    logits[:, :, 1] = -torch.inf
    y = torch.eye(K, dtype=torch.float64)[torch.tensor([[0, 2, 2, 0], [2, 2, 0, 0]])].expand(len(MASKS), 2, T, K)
    log_p = logits.log_softmax(-1)
    for there in (None, mask):
        by_hand = [
            [sum(log_p[b, t, y[b, s, t].argmax()] for t in range(T) if there is None or MASKS[b][t]) for s in range(2)]
            for b in range(len(MASKS))
        ]
        torch.testing.assert_close(TagSpace(K).log_prob(y, logits, there), torch.tensor(by_hand, dtype=torch.float64))
    y = torch.eye(K, dtype=torch.float64)[torch.tensor([[[1, 0, 0, 0]]])]
    assert TagSpace(K).log_prob(y, logits[:1]).isneginf().all()


def test_a_token_that_may_have_several_tags_costs_what_all_of_them_have(logits, mask):
    """-log of the summed probability of every sequence that agrees, by enumeration."""
    space, truth = TagSpace(K), torch.zeros_like(logits)
    truth[..., 0] = 1
    truth[:, 1, 1] = 1  # the second token has tag 0 or 1, the third any
    truth[:, 2] = 0
    truth *= mask
    loss = space.supervised_loss(logits, truth, mask)
    for b, row in enumerate(MASKS):
        y = every_sequence(row)
        agree = ((y * truth[b]).sum(-1) == (truth[b].sum(-1) > 0)).all(-1)
        p = space.log_prob(y.unsqueeze(0), logits[b : b + 1], mask[b : b + 1])[0].exp()
        torch.testing.assert_close(loss[b], -p[agree].sum().log())
    assert torch.allclose(space.supervised_loss(logits, truth), loss + 0)  # zero where there is no tag


def test_large_numbers_and_none_are_projected():
    space = TagSpace(3)
    far = torch.tensor([[3e7, 0.0, 0.0], [1e30, 1e30, 0.0], [-3e9, -3e9, -3e9]])
    torch.testing.assert_close(space.project(far), torch.tensor([[1.0, 0, 0], [0.5, 0.5, 0], [1 / 3] * 3]))
    assert space.project(torch.tensor([[torch.nan, 0.0, 0.0]])).isnan().all()  # rows end by their objective, not by an index
