"""The mask space against enumeration of all 512 masks of 3 x 3 pixels, with ignored pixels, and with three classes."""

import itertools

import pytest
import torch

from enstruct.errors import ConfigError
from enstruct.spaces import MaskSpace
from enstruct.spaces.masks import MASK_COSTS

SIDE = 3


def every_mask():
    """(512, 3, 3, 2) one-hot."""
    bits = torch.tensor(list(itertools.product([0, 1], repeat=SIDE * SIDE))).view(-1, SIDE, SIDE)
    return torch.nn.functional.one_hot(bits, 2).double()


@pytest.fixture
def logits():
    torch.manual_seed(0)
    return torch.randn(2, SIDE, SIDE, 2, dtype=torch.float64)


@pytest.fixture
def known():
    """The second image has four ignored pixels."""
    mask = torch.ones(2, SIDE, SIDE, 1, dtype=torch.float64)
    mask[1, :2, 1:] = 0
    return mask


def test_probabilities_sum_to_one_over_all_masks(logits, known):
    every = every_mask().unsqueeze(0)
    log_p = MaskSpace(2).log_prob(every.expand(2, -1, -1, -1, -1), logits)
    assert torch.allclose(log_p.exp().sum(1), torch.ones(2, dtype=torch.float64))
    by_hand = sum(logits[0, i, j].log_softmax(-1)[int(every[0, 300, i, j, 1])] for i in range(3) for j in range(3))
    assert log_p[0, 300].item() == pytest.approx(float(by_hand))
    shown = MaskSpace(2).log_prob(every * known[1:].unsqueeze(1), logits[1:], known[1:]).exp().sum()
    assert shown == pytest.approx(2**4)  # each mask of the known pixels comes 2^4 times


def test_samples_have_the_marginals_and_the_enumerated_log_probabilities(logits, known):
    space = MaskSpace(2)
    torch.manual_seed(1)
    y = space.sample(logits, 20000, known)
    assert y.shape == (2, 20000, SIDE, SIDE, 2)
    assert torch.allclose(y.mean(1), space.relax(logits) * known, atol=0.015)
    number = (y[0, :, :, :, 1].flatten(1) @ (2.0 ** torch.arange(8, -1, -1, dtype=torch.float64))).long()
    log_p = space.log_prob(every_mask().unsqueeze(0), logits[:1])[0]
    assert torch.allclose(space.log_prob(y[:1], logits[:1])[0], log_p[number])
    counted = torch.bincount(number, minlength=512).double() / len(number)
    assert torch.allclose(counted, log_p.exp(), atol=0.01)


def test_the_iou_cost_is_the_counted_one():
    every, truth = every_mask(), every_mask()[[0, 37, 511]]
    costs = MaskSpace(2, "soft-iou").cost(every.unsqueeze(0).expand(3, -1, -1, -1, -1), truth)
    for row, t in enumerate(truth[..., 1].bool()):
        for number in (0, 1, 37, 200, 511):
            y = every[number, ..., 1].bool()
            union = int((y | t).sum())
            expected = 1 - int((y & t).sum()) / union if union else 0.0
            assert costs[row, number].item() == pytest.approx(expected)


def test_an_empty_mask_agrees_with_an_empty_one_and_nothing_is_nan():
    empty = every_mask()[:1]
    y = empty.unsqueeze(0).clone().requires_grad_()
    space = MaskSpace(2, "soft-iou")
    assert space.cost(y, empty).item() == 0
    assert (space.cost_gradient(y, empty) == 0).all()
    (slope,) = torch.autograd.grad(space.cost(y, empty).sum(), y)
    assert (slope == 0).all()


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("name", MASK_COSTS)
def test_costs_are_zero_at_the_truth_and_their_gradients_right(name, classes, known):
    space = MaskSpace(classes, name)
    torch.manual_seed(2)
    truth = torch.eye(classes, dtype=torch.float64)[torch.randint(classes, (2, SIDE, SIDE))] * known
    assert torch.allclose(space.cost(truth.unsqueeze(1), truth, known), torch.zeros(2, 1, dtype=torch.float64), atol=1e-4)
    y = torch.softmax(torch.randn(2, 4, SIDE, SIDE, classes, dtype=torch.float64), -1).requires_grad_()
    (slope,) = torch.autograd.grad(space.cost(y, truth, known).sum(), y)
    assert torch.allclose(space.cost_gradient(y, truth, known).expand_as(slope), slope)


def test_with_three_classes_the_cost_is_the_mean_over_those_the_truth_has():
    truth = torch.eye(3)[torch.tensor([[[0, 0], [1, 1]]])]  # no pixel of class 2
    y = torch.eye(3)[torch.tensor([[[[0, 1], [1, 1]]]])]
    assert MaskSpace(3, "soft-iou").cost(y, truth).item() == pytest.approx(1 - (1 / 2 + 2 / 3) / 2)
    other = torch.eye(3)[torch.tensor([[[[0, 2], [1, 1]]]])]
    assert MaskSpace(3, "soft-iou").cost(other, truth).item() == pytest.approx(1 - (1 / 2 + 1) / 2)


def test_the_supervised_loss_is_the_mean_over_known_pixels(logits, known):
    truth = torch.eye(2, dtype=torch.float64)[torch.randint(2, (2, SIDE, SIDE))] * known
    pixels = [
        [-float(logits[b, i, j].log_softmax(-1) @ truth[b, i, j]) for i in range(3) for j in range(3) if known[b, i, j]]
        for b in range(2)
    ]
    expected = torch.tensor([sum(row) / len(row) for row in pixels], dtype=torch.float64)
    assert torch.allclose(MaskSpace(2).supervised_loss(logits, truth, known), expected)


def test_the_entropy_is_the_enumerated_one(logits):
    space = MaskSpace(2)
    log_p = space.log_prob(every_mask().unsqueeze(0).expand(2, -1, -1, -1, -1), logits)
    assert torch.allclose(space.entropy(space.relax(logits).unsqueeze(1)).squeeze(1), -(log_p.exp() * log_p).sum(1))


def test_noise_is_normal_and_alike_in_neighbouring_pixels():
    torch.manual_seed(0)
    noise = MaskSpace(2).noise(torch.zeros(50, 24, 24, 2), 40)
    assert noise.shape == (50, 40, 24, 24, 2)
    assert noise.mean().abs() < 0.02
    assert 0.5 < noise.std() < 1  # interpolation between cells averages
    beside = (noise[:, :, :, 1:] - noise[:, :, :, :-1]).square().mean() / noise.square().mean()
    apart = (noise[:, :, :, 12:] - noise[:, :, :, :-12]).square().mean() / noise.square().mean()
    assert beside < 0.3 < 1.5 < apart
    assert (noise[0, 0] - noise[0, 1]).abs().mean() > 0.5


def test_the_blank_mask_is_background():
    blank = MaskSpace(3).blank(2, 1, torch.zeros(1), (4, 5))
    assert blank.shape == (2, 1, 4, 5, 3)
    assert blank[..., 0].all()
    assert not blank[..., 1:].any()


def test_unknown_cost():
    with pytest.raises(ConfigError, match=r"cost of masks.*soft-iou"):
        MaskSpace(2, "soft-f1")
