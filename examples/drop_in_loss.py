"""A learned loss for a PyTorch model of your own, in three lines.

Trains the same small network twice on the block-exclusive task, with cross-entropy and with EnergyLoss, and
prints example-F1 on fresh rows. Expect figures near each other. Takes about half a minute.

    python examples/drop_in_loss.py
"""

from __future__ import annotations

import sys

import torch
from torch import nn

from enstruct import METHODS, EnergyLoss, EnergySpec, example_f1
from enstruct.data.synthetic import block_exclusive


class Net(nn.Module):
    """Somebody's working model: features, then logits."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(64, 200), nn.ReLU(), nn.Dropout(0.2), nn.Linear(200, 200), nn.ReLU())
        self.head = nn.Linear(200, 16)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        features = self.body(x)
        return self.head(features), features


def tensors(rows: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    data = block_exclusive(rows, seed)
    return torch.tensor(data.X, dtype=torch.float32), torch.tensor(data.Y.toarray(), dtype=torch.float32)


def train(criterion: EnergyLoss | None, epochs: int) -> float:
    torch.manual_seed(0)
    x, y = tensors(1500, seed=1)
    net = Net()
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
    for _ in range(epochs):
        for index in torch.randperm(len(x)).split(32):
            logits, features = net(x[index])
            if criterion is None:
                loss = nn.functional.binary_cross_entropy_with_logits(logits, y[index], reduction="none").sum(1).mean()
            else:
                loss = criterion(logits, y[index], features)  # 1
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if criterion is not None:
                criterion.update()  # 2
    net.eval()
    x_test, y_test = tensors(2000, seed=2)
    with torch.no_grad():
        return 100 * example_f1(y_test.numpy(), net(x_test)[0].numpy() > 0)


def main(epochs: int = 30) -> None:
    torch.manual_seed(0)
    criterion = EnergyLoss(
        features_dim=200, n_labels=16, method=METHODS["seal-nce"].with_(energy_weight=1.0), energy_network=EnergySpec(units=32)
    )  # 3
    print(f"cross-entropy  F1 {train(None, epochs):.1f}")
    print(f"EnergyLoss     F1 {train(criterion, epochs):.1f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 30)
