"""SEAL with NCE ranking, from scratch: the whole method in plain torch, for whoever wants to see how it works.

A predictor F(x) gives p = sigmoid(F(x)), the probability of each label. It learns from cross-entropy and from an energy E(x, y),
lower where labels go together; the energy learns, beside it, to tell the true labels from those that the predictor proposes:

    energy:     minimise  -log softmax_k [ -E(x, y_k) - log P(y_k | p) ]_0        y_0 = y (the truth),  y_1 .. y_K ~ P(. | p)
    predictor:  minimise  CE(p, y) + w E(x, p)

The first is the noise-contrastive ranking loss: minus the energy, less how probable the predictor made the candidate anyway, must
rank the truth first. At its optimum exp(-E)/Z is P(y | x). At prediction the energy is not needed: a label is on where p > 1/2.
Nothing of enstruct is used but its generated data: four blocks of four labels, exactly one of each block on. Prints example-F1
on fresh rows. Expect figures near each other: on so little data the energy adds little. Takes about
ten seconds.

    python examples/seal_from_scratch.py [epochs]
"""

from __future__ import annotations

import sys

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from enstruct.data.synthetic import block_exclusive

FEATURES, LABELS, HIDDEN, UNITS, EPOCHS = 64, 16, 200, 200, 60
SAMPLES, WEIGHT, WARMUP, BATCH = 20, 3.0, 500, 32  # K; w, and the updates in which it rises to that; rows a batch


class Body(nn.Sequential):
    """x (batch, FEATURES) -> f(x) (batch, HIDDEN). The predictor and the energy have one each."""

    def __init__(self) -> None:
        super().__init__(nn.Linear(FEATURES, HIDDEN), nn.Softplus(), nn.Dropout(0.5), nn.Linear(HIDDEN, HIDDEN), nn.Softplus())
        for layer in (self[0], self[3]):
            nn.init.kaiming_uniform_(layer.weight, nonlinearity="relu")


class Energy(nn.Module):
    """E(x, y) = sum_l y_l (b_l . f(x) + d_l) + v . softplus(y C + c): a local and a global term.

    The local term says how well each label goes with x, the global one how well labels go with each other. y is (batch,
    candidates, LABELS), 0/1 or relaxed to [0, 1], since both terms are smooth in it.
    """

    def __init__(self) -> None:
        super().__init__()
        self.body, self.local = Body(), nn.Linear(HIDDEN, LABELS)  # f; b and d
        self.measure = nn.Linear(LABELS, UNITS)  # C and c
        self.v = nn.Parameter(torch.randn(UNITS) * (2 / UNITS) ** 0.5)

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        local = (y * self.local(self.body(x)).unsqueeze(1)).sum(-1)
        return local + F.softplus(self.measure(y)) @ self.v  # (batch, candidates)


def log_prob(y: Tensor, logits: Tensor) -> Tensor:
    """log P(y | p) = sum_l y_l z_l - softplus(z_l), of independent labels with logits z: (batch, candidates)."""
    z = logits.unsqueeze(1)
    return (y * z - F.softplus(z)).sum(-1)


def nce_ranking_loss(energy: Energy, x: Tensor, y: Tensor, logits: Tensor) -> Tensor:
    """The truth among K samples of the predictor; ``logits`` carry no gradient, so that only the energy learns."""
    samples = torch.bernoulli(torch.sigmoid(logits).unsqueeze(1).expand(-1, SAMPLES, -1))
    candidates = torch.cat([y.unsqueeze(1), samples], dim=1)  # y_0 is the truth
    scores = -energy(x, candidates) - log_prob(candidates, logits)
    return -scores.log_softmax(dim=1)[:, 0].mean()


def cross_entropy(logits: Tensor, y: Tensor) -> Tensor:
    return F.binary_cross_entropy_with_logits(logits, y, reduction="none").sum(1).mean()


def train(x: Tensor, y: Tensor, epochs: int, weight: float) -> nn.Module:
    """The predictor; ``weight`` is w, and 0 is cross-entropy alone."""
    torch.manual_seed(0)
    predictor, energy = nn.Sequential(Body(), nn.Linear(HIDDEN, LABELS)), Energy()
    move_predictor = torch.optim.AdamW(predictor.parameters(), lr=1e-3, weight_decay=1e-5, fused=True)
    move_energy = torch.optim.AdamW(energy.parameters(), lr=1e-3, weight_decay=1e-5, fused=True)
    updates = 0
    for _ in range(epochs):
        for rows in torch.randperm(len(x)).split(BATCH):
            logits = predictor(x[rows])
            loss = cross_entropy(logits, y[rows])
            if weight:
                # first update: the energy, on samples of the predictor as it is
                energy_loss = nce_ranking_loss(energy, x[rows], y[rows], logits.detach())
                move_energy.zero_grad()
                energy_loss.backward()
                move_energy.step()
                # an untrained energy would only mislead, so its weight rises from 0
                rising = weight * min(1.0, updates / WARMUP)
                loss = loss + rising * energy(x[rows], torch.sigmoid(logits).unsqueeze(1)).mean()
            # second update: the predictor; the gradient that the energy gets here too is cleared before its next update
            move_predictor.zero_grad()
            loss.backward()
            move_predictor.step()
            updates += 1
    return predictor.eval()


def example_f1(truth: Tensor, found: Tensor) -> float:
    """2 |y and y'| / (|y| + |y'|), as a mean over rows in percent."""
    return float((200 * (truth * found).sum(1) / (truth.sum(1) + found.sum(1))).mean())


def f1_on_fresh_rows(epochs: int, weight: float) -> float:
    data, fresh = block_exclusive(1500, seed=1), block_exclusive(1000, seed=2)
    x, y, x_new, y_new = (torch.tensor(a, dtype=torch.float32) for d in (data, fresh) for a in (d.X, d.Y.toarray()))
    predictor = train(x, y, epochs, weight)
    return example_f1(y_new, (torch.sigmoid(predictor(x_new)) > 0.5).float())


if __name__ == "__main__":
    epochs = int(sys.argv[1]) if len(sys.argv) > 1 else EPOCHS
    print(f"cross-entropy  F1 {f1_on_fresh_rows(epochs, 0.0):.1f}")
    print(f"SEAL           F1 {f1_on_fresh_rows(epochs, WEIGHT):.1f}")
