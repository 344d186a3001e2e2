"""The cost-augmented net: its loss by hand, its gradients, its kinds."""

import pytest
import torch

from enstruct.encoders import MLP, Predictor
from enstruct.energies import LocalEnergy, SumEnergy
from enstruct.errors import ConfigError
from enstruct.negatives import CostAugmentedNet, Situation
from enstruct.negatives.augmented import KINDS
from enstruct.spaces import LabelSpace

SPACE = LabelSpace(4, "squared")


def situation():
    torch.manual_seed(0)
    predictor = Predictor(MLP(3, 5, 1), 4).eval()
    energy = SumEnergy(None, [LocalEnergy(3, 4)])
    x = torch.randn(2, 3)
    truth = torch.tensor([[1.0, 0, 0, 1], [0, 0, 1, 0]])
    return predictor, Situation(predictor(x), truth, None, x, energy, energy.prepare(x))


@pytest.mark.parametrize("kind", KINDS)
def test_loss_is_energy_minus_cost_plus_cross_entropy(kind):
    predictor, at = situation()
    net = CostAugmentedNet(kind, supervised_weight=0.5).build(SPACE, 4, predictor).eval()
    z = net.logits(at)
    y = torch.sigmoid(z)
    by_hand = at.energy(at.state, y.unsqueeze(1)).squeeze(1) - (y - at.truth).square().sum(1)
    by_hand = by_hand + 0.5 * torch.nn.functional.binary_cross_entropy_with_logits(z, at.truth, reduction="none").sum(1)
    torch.testing.assert_close(net.loss(at), by_hand)
    net.loss(at).sum().backward()
    assert all(p.grad is not None for p in net.parameters())
    assert at.logits.grad_fn is not None
    assert all(p.grad is None for p in predictor.parameters())


def test_with_predictor_gives_its_output_second():
    predictor, at = situation()
    y = CostAugmentedNet(with_predictor=True).build(SPACE, 4, predictor).draw(at).y
    assert y.shape == (2, 2, 4)
    assert not y.requires_grad
    torch.testing.assert_close(y[:, 1], torch.sigmoid(at.logits))


def test_training_lowers_its_loss():
    predictor, at = situation()
    net = CostAugmentedNet().build(SPACE, 4, predictor)
    optimizer = torch.optim.Adam(net.parameters(), 0.05)
    at = at._replace(logits=at.logits.detach(), state=at.state.detached())
    losses = []
    for _ in range(50):
        optimizer.zero_grad()
        loss = net.loss(at).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] - 0.5


def test_kinds_that_need_the_predictor_say_so():
    with pytest.raises(ConfigError, match="predictor's encoder"):
        CostAugmentedNet("shared").build(SPACE, 4)
    with pytest.raises(ConfigError, match="stacked"):
        CostAugmentedNet("staked")
