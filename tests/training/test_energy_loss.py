"""The drop-in loss in somebody's own loop."""

import pytest
import torch

from enstruct import EnergyLoss
from enstruct.errors import ConfigError, DataError


def loop(criterion, steps, seed=0):
    torch.manual_seed(seed)
    net = torch.nn.Linear(6, 5)
    head = torch.nn.Linear(5, 3)
    optimizer = torch.optim.SGD([*net.parameters(), *head.parameters()], 0.1)
    x, y = torch.randn(20, 6), (torch.rand(20, 3) < 0.5).float()
    losses = []
    for _ in range(steps):
        features = torch.relu(net(x))
        loss = criterion(head(features), y, features)
        optimizer.zero_grad()
        loss.backward()
        assert all(p.grad is None for p in criterion.parameters())
        optimizer.step()
        criterion.update()
        losses.append(loss.item())
    return losses


@pytest.mark.parametrize("method", ["seal-nce", "seal-ranking", "seal-margin", "seal-regression", "seal-regression-s"])
def test_trains_a_users_network(method):
    losses = loop(EnergyLoss(5, 3, method, energy_weight=0.1), 60)
    assert losses[-1] < losses[0]


def test_state_dict_includes_the_optimiser(tmp_path):
    a = EnergyLoss(5, 3)
    loop(a, 5)
    torch.save(a.state_dict(), tmp_path / "loss.pt")
    b = EnergyLoss(5, 3)
    b.load_state_dict(torch.load(tmp_path / "loss.pt", weights_only=True))
    assert b.learned.updates == 5
    assert loop(a, 5, seed=3) == loop(b, 5, seed=3)


def test_cost_augmented_source_is_saved_too():
    criterion = EnergyLoss(5, 3, "seal-margin", negatives="cost-augmented")
    assert any(name.startswith("source.") for name in criterion.state_dict())


def test_a_users_energy_module():
    class Mine(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.w = torch.nn.Parameter(torch.randn(3))

        def forward(self, features, y):
            return (y * self.w).sum(-1)

    assert len(loop(EnergyLoss(5, 3, energy=Mine()), 3)) == 3


def test_misuse_is_explained():
    with pytest.raises(ConfigError, match="one-stage"):
        EnergyLoss(5, 3, "cross-entropy")
    with pytest.raises(ConfigError, match="Did you mean 'seal-nce'"):
        EnergyLoss(5, 3, "seal-nec")
    criterion = EnergyLoss(5, 3)
    with pytest.raises(ConfigError, match="before update"):
        criterion.update()
    with pytest.raises(DataError, match=r"features must be \(batch, 5\)"):
        criterion(torch.zeros(2, 3), torch.zeros(2, 3), torch.zeros(2, 4))
