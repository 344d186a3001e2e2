"""Mixtures of the truth with other masks: where they lie, and that values of every size are among them."""

import pytest
import torch

from enstruct.energies import LocalEnergy, SumEnergy
from enstruct.errors import ConfigError
from enstruct.inference import AdamOnLogits, Inference
from enstruct.negatives import Situation, ValueMixtures
from enstruct.randomness import seeded
from enstruct.spaces import LabelSpace, MaskSpace

SIDE, BATCH = 16, 6
HOW = Inference(AdamOnLogits(0.5), steps=4, as_value=True)


@pytest.fixture
def at():
    """Discs of several sizes, and an energy that likes the second class everywhere."""
    torch.manual_seed(0)
    rows, columns = torch.meshgrid(torch.arange(SIDE), torch.arange(SIDE), indexing="ij")
    radius = torch.linspace(2, 7, BATCH).view(-1, 1, 1)
    inside = ((rows - 8) ** 2 + (columns - 8) ** 2).sqrt() <= radius
    truth = torch.nn.functional.one_hot(inside.long(), 2).float()
    energy = SumEnergy(None, [LocalEnergy(1, 2)])
    with torch.no_grad():
        energy.part("local").scores.weight.zero_()
        energy.part("local").scores.bias.copy_(torch.tensor([0.0, -0.01]))
    x = torch.ones(BATCH, SIDE, SIDE, 1)
    return Situation(torch.zeros_like(truth), truth, None, x, energy, energy.prepare(x))


def drawn(at, n, seed=0):
    with seeded(seed):
        return ValueMixtures(HOW, n).build(MaskSpace(2, "soft-iou"), 2).draw(at).y


def test_the_truth_comes_first_a_point_of_inference_second(at):
    y = drawn(at, 12)
    assert y.shape == (BATCH, 12, SIDE, SIDE, 2)
    assert torch.equal(y[:, 0], at.truth)
    assert (y[:, 1, ..., 1] > 0.5).all()
    assert torch.allclose(y.sum(-1), torch.ones(()), atol=1e-5)
    assert (y >= 0).all()
    ends = {round(float(drawn(at, 3, seed)[0, 1, 0, 0, 1]), 4) for seed in range(30)}
    assert len(ends) == HOW.steps  # its end, and every point on the way


def test_values_are_spread_over_all_there_are(at):
    value = 1 - MaskSpace(2, "soft-iou").cost(drawn(at, 42)[:, 2:], at.truth)
    assert value[:, -4:].mean() > 0.8  # nearly the truth
    assert value[:, :4].mean() < 0.5
    assert all(((value >= low) & (value < low + 0.2)).float().mean() > 0.03 for low in (0.2, 0.4, 0.6, 0.8))


def test_half_of_them_are_crisp_with_patches_of_the_truth_among_others(at):
    y = drawn(at, 402)[:, 2:]
    crisp = ((y == 0) | (y == 1)).flatten(2).all(-1)
    blobs = 1 / 5  # which are not crisp to the last digit, where they show
    assert 0.5 * (1 - blobs) - 0.1 < crisp.float().mean() < 0.5
    for row in range(BATCH):
        own, others = y[row][crisp[row]], torch.cat([at.truth[:row], at.truth[row + 1 :]])
        apart = (own.unsqueeze(1) != torch.cat([at.truth[row : row + 1], others])).flatten(2).any(-1)
        assert apart.all(1).float().mean() > 0.2  # neither the truth nor another's mask: parts of both


def test_patches_take_about_their_share_of_the_places_that_are_known(at):
    known = torch.zeros(BATCH, SIDE, SIDE, 1)
    known[:, : SIDE // 2] = 1
    with seeded(0):
        field = ValueMixtures(HOW, 202)._field(at._replace(mask=known), MaskSpace(2, "soft-iou"), 200)
    inside = field[known.unsqueeze(1).expand_as(field) > 0].view(BATCH, 200, -1)
    assert torch.allclose(inside.mean(-1), torch.zeros(()), atol=1e-4)
    assert torch.allclose(inside.std(-1, unbiased=False), torch.ones(()), atol=1e-3)
    assert (inside < torch.special.ndtri(torch.tensor(0.3))).float().mean() == pytest.approx(0.3, abs=0.05)


def test_label_sets_have_no_patches():
    with pytest.raises(ConfigError, match="label sets have ValueTuples"):
        ValueMixtures(HOW, 8).build(LabelSpace(3), 3)


def test_there_are_three_at_least():
    with pytest.raises(ConfigError, match="n_samples"):
        ValueMixtures(n=2)
