"""The training step as the published SEAL system takes it, to measure ours against.

Dense input, dense Bernoulli sampling, the x-network run again at each energy call, torch's default (unfused)
AdamW, one forward pass of the predictor for the samples and another for its own update. Written from the
formulas; with the candidates fixed it computes the same losses and gradients as ours (bench/tests/costs).
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class PublishedStep:
    """``predictor`` and ``energy`` are ours, fed dense rows; only the way of stepping differs."""

    def __init__(self, predictor: nn.Module, energy: nn.Module, samples: int, weight: float, fused: bool = False) -> None:
        self.predictor, self.energy, self.samples, self.weight = predictor, energy, samples, weight
        self.optimizers = [
            torch.optim.AdamW(m.parameters(), lr=1e-3, weight_decay=1e-5, fused=fused, foreach=False) for m in (energy, predictor)
        ]

    def score(self, x: Tensor, y: Tensor) -> Tensor:
        """The x-network runs at every call."""
        return -self.energy(self.energy.prepare(x), y)  # type: ignore[operator]

    def draw(self, logits: Tensor) -> Tensor:
        p = torch.sigmoid(logits)
        return torch.bernoulli(p.unsqueeze(1).expand(-1, self.samples, -1))

    def energy_loss(self, x: Tensor, y: Tensor, logits: Tensor, drawn: Tensor) -> Tensor:
        """NCE ranking, mean over rows; log P from probabilities."""
        candidates = torch.cat([y.unsqueeze(1), drawn], dim=1)
        p = torch.sigmoid(logits).unsqueeze(1).expand_as(candidates)
        log_noise = -F.binary_cross_entropy(p, candidates, reduction="none").sum(-1)
        truth = self.score(x, y.unsqueeze(1)) - log_noise[:, :1]
        negatives = self.score(x, drawn) - log_noise[:, 1:]
        return -torch.log_softmax(torch.cat([truth, negatives], 1), dim=1)[:, 0].mean()

    def predictor_loss(self, x: Tensor, y: Tensor) -> Tensor:
        logits = self.predictor(x)
        supervised = F.binary_cross_entropy_with_logits(logits, y, reduction="none").sum(-1)
        return (supervised - self.weight * self.score(x, torch.sigmoid(logits).unsqueeze(1)).squeeze(1)).mean()

    def step(self, x: Tensor, y: Tensor) -> None:
        with torch.no_grad():
            logits = self.predictor(x)
            drawn = self.draw(logits)
        for optimizer, loss in zip(
            self.optimizers,
            (lambda: self.energy_loss(x, y, logits, drawn), lambda: self.predictor_loss(x, y)),
            strict=True,
        ):
            value = loss()
            optimizer.zero_grad()
            value.backward()
            float(value.detach())
            optimizer.step()


def published_inference(energy: nn.Module, x: Tensor, n_labels: int, rate: float, steps: int) -> Tensor:
    """(batch, labels): projected gradient on y, the x-network run again at every step, gradients of the parameters
    computed along (the published loops leave them requiring gradients); the best iterate per row counts, as in ours.
    """
    y = torch.full((len(x), n_labels), 0.5, dtype=x.dtype, requires_grad=True)
    best, best_y = torch.full((len(x),), torch.inf, dtype=x.dtype), y.detach().clone()
    for step in range(steps + 1):
        value = energy(energy.prepare(x), y.unsqueeze(1)).squeeze(1)  # type: ignore[operator]
        with torch.no_grad():
            better = value < best
            best, best_y = torch.where(better, value, best), torch.where(better.unsqueeze(1), y, best_y)
        if step < steps:
            y.grad = None
            value.sum().backward()
            assert y.grad is not None
            with torch.no_grad():
                y -= rate * y.grad
                y.clamp_(0, 1)
    energy.zero_grad()
    return best_y
