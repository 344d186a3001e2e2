"""A learned loss for a segmentation network of your own, in three lines.

Trains the same small convolutional network twice on noisy pictures of ellipses, across which lies a bar that hides a part, with
cross-entropy and with EnergyLoss, and prints the mean IoU on fresh ones. Expect figures near each other. Takes about a minute.

    python examples/drop_in_mask_loss.py
"""

from __future__ import annotations

import sys

import torch
from torch import Tensor, nn

from enstruct import EnergyLoss
from enstruct.data.synthetic import ellipses
from enstruct.metrics.masks import iou_counts

WIDTH, CLASSES = 16, 2


class Network(nn.Module):
    """Somebody's working model, in torch's order of images: features of each pixel, then logits."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, WIDTH, 5, padding=2), nn.ReLU(), nn.Conv2d(WIDTH, WIDTH, 5, padding=4, dilation=2), nn.ReLU()
        )
        self.head = nn.Conv2d(WIDTH, CLASSES, 1)

    def forward(self, images: Tensor) -> tuple[Tensor, Tensor]:
        features = self.body(images)  # (batch, WIDTH, height, width)
        return self.head(features), features


def tensors(n: int, seed: int) -> tuple[Tensor, Tensor]:
    images, masks = ellipses(n, size=24, noise=0.8, seed=seed)
    return torch.from_numpy(images).unsqueeze(1), torch.from_numpy(masks)


def train(epochs: int, with_energy: bool) -> float:
    torch.manual_seed(0)
    model = Network()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    criterion = EnergyLoss(features_dim=WIDTH, n_labels=CLASSES, method="seal-nce", task="masks")
    images, masks = tensors(200, seed=1)
    for _ in range(epochs):
        for rows in torch.randperm(len(images)).split(16):
            logits, features = model(images[rows])
            if with_energy:
                loss = criterion(logits, masks[rows], features)
            else:
                loss = nn.functional.cross_entropy(logits, masks[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if with_energy:
                criterion.update()
    images, masks = tensors(200, seed=2)
    found = model(images)[0].argmax(1)
    return float(iou_counts(masks.numpy(), found.numpy(), CLASSES).above.mean())


if __name__ == "__main__":
    epochs = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    plain, learned = train(epochs, with_energy=False), train(epochs, with_energy=True)
    print(f"mean IoU: cross-entropy {plain:.3f}   with an energy {learned:.3f}")
