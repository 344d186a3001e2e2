"""A learned loss for a tagger of your own, in three lines.

Trains the same small convolutional tagger twice on made-up sentences in which tags come in runs that only neighbours tell, with
cross-entropy and with EnergyLoss, and prints token accuracy on fresh ones. Expect the second figure not to be far from the first
or above it. Takes about half a minute.

    python examples/drop_in_tagger_loss.py
"""

from __future__ import annotations

import sys

import torch
from torch import Tensor, nn

from enstruct import EnergyLoss

TAGS, WIDTH = 5, 32


class Tagger(nn.Module):
    """Somebody's working model: features of each token, then logits."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(50, WIDTH)
        self.mix = nn.Conv1d(WIDTH, WIDTH, 3, padding=1)
        self.head = nn.Linear(WIDTH, TAGS)

    def forward(self, words: Tensor) -> tuple[Tensor, Tensor]:
        features = torch.relu(self.mix(self.words(words).transpose(1, 2)).transpose(1, 2))  # (batch, time, WIDTH)
        return self.head(features), features


def sentences(n: int, seed: int) -> tuple[Tensor, Tensor]:
    """Runs of one tag; a word shows its tag in three cases of four. Padding ends with -100."""
    rng = torch.Generator().manual_seed(seed)
    stay = torch.rand(n, 20, generator=rng) < 0.8
    fresh = torch.randint(TAGS, (n, 20), generator=rng)
    tags = fresh.clone()
    for t in range(1, 20):
        tags[:, t] = torch.where(stay[:, t], tags[:, t - 1], fresh[:, t])
    shown = torch.where(torch.rand(n, 20, generator=rng) < 0.75, tags, torch.randint(TAGS, (n, 20), generator=rng))
    words = shown * 10 + torch.randint(10, (n, 20), generator=rng)
    tags[:, 18:] = -100
    return words, tags


def train(epochs: int, with_energy: bool) -> float:
    torch.manual_seed(0)
    model = Tagger()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    criterion = EnergyLoss(features_dim=WIDTH, n_labels=TAGS, method="seal-nce", task="tags")
    words, tags = sentences(800, seed=1)
    for _ in range(epochs):
        for rows in torch.randperm(len(words)).split(32):
            logits, features = model(words[rows])
            if with_energy:
                loss = criterion(logits, tags[rows], features)
            else:
                loss = nn.functional.cross_entropy(logits.flatten(0, 1), tags[rows].flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if with_energy:
                criterion.update()
    words, tags = sentences(500, seed=2)
    found = model(words)[0].argmax(-1)
    return float((found == tags)[tags >= 0].float().mean())


if __name__ == "__main__":
    epochs = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    print(f"cross-entropy {100 * train(epochs, with_energy=False):.2f}")
    print(f"EnergyLoss    {100 * train(epochs, with_energy=True):.2f}")
