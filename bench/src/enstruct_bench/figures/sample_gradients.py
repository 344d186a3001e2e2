"""Bias and spread of the gradients through discrete samples, against the enumerated gradient of the expectation.

For a random energy over ``LABELS`` labels, random marginals and the contrastive-divergence loss of K samples, the exact
∂_z E[L(y_1..K)] is had by enumerating all K-tuples of label sets (K = 1, 2; 3 labels). Reported, relative to its norm and
averaged over ``PROBLEMS`` random problems: the bias (norm of the mean error over ``DRAWS`` estimates) and the standard deviation
of one. Even an unbiased estimator shows a bias of about its standard deviation / sqrt(``DRAWS``): that floor stands beside it.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from enstruct.energies import GlobalEnergy
from enstruct.negatives import SAMPLE_GRADIENTS, PredictorSamples, Situation
from enstruct.negatives.sample_gradients import score_function
from enstruct.objectives import CONTRASTIVE_DIVERGENCE, Scores
from enstruct.plots.labels import panels, save
from enstruct.spaces import LabelSpace
from enstruct.spaces.label_vectors import dense

LABELS, PROBLEMS, DRAWS = 3, 20, 4000
TEMPERATURES = (0.25, 0.5, 1.0)
SPACE = LabelSpace(LABELS)


def measure() -> dict[str, Any]:
    """One entry for each number of samples and each estimator."""
    entries: list[dict[str, Any]] = []
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        problems = [_Problem() for _ in range(PROBLEMS)]
        for k in (1, 2):
            exact = [problem.exact(k) for problem in problems]
            for source in _sources(k):
                errors = [_error(problem.estimates(source), truth) for problem, truth in zip(problems, exact, strict=True)]
                bias, spread = (sum(values) / PROBLEMS for values in zip(*errors, strict=True))
                entries.append(
                    {"estimator": _name(source), "samples": k, "bias": bias, "floor": spread / DRAWS**0.5, "deviation": spread}
                )
    return {"labels": LABELS, "problems": PROBLEMS, "draws": DRAWS, "curve": entries}


def _sources(k: int) -> list[PredictorSamples]:
    plain = [PredictorSamples(k, name) for name in SAMPLE_GRADIENTS if name != "concrete"]
    return plain + [PredictorSamples(k, "concrete", temperature) for temperature in TEMPERATURES]


def _name(source: PredictorSamples) -> str:
    return f"concrete {source.temperature:g}" if source.gradient == "concrete" else str(source.gradient)


def _error(estimates: Tensor, exact: Tensor) -> tuple[float, float]:
    size = exact.norm()
    return float((estimates.mean(0) - exact).norm() / size), float(estimates.var(0).sum().sqrt() / size)


class _Problem:
    """A random energy, truth and predictor output over three labels."""

    def __init__(self) -> None:
        self.energy = GlobalEnergy(LABELS, 6).double()
        with torch.no_grad():
            for weights in self.energy.parameters():
                weights.copy_(torch.randn_like(weights))
        self.truth = (torch.rand(1, LABELS, dtype=torch.float64) < 0.5).double()
        self.logits = torch.randn(1, LABELS, dtype=torch.float64)

    def exact(self, k: int) -> Tensor:
        """(labels,)"""
        corners = torch.tensor(list(itertools.product([0.0, 1.0], repeat=LABELS)), dtype=torch.float64)
        tuples = corners[torch.tensor(list(itertools.product(range(len(corners)), repeat=k)))]  # (tuples, k, labels)
        logits = self.logits.repeat(len(tuples), 1).requires_grad_()
        probability = SPACE.log_prob(tuples, logits).sum(1).exp()
        with torch.no_grad():
            loss = CONTRASTIVE_DIVERGENCE.loss(self._scores(tuples))
        (gradient,) = torch.autograd.grad((probability * loss).sum(), logits)
        return gradient.sum(0)

    def estimates(self, source: PredictorSamples) -> Tensor:
        """(draws, labels): every row of a batch of copies is one estimate."""
        logits = self.logits.repeat(DRAWS, 1).requires_grad_()
        drawn = source.build(SPACE, LABELS).draw(Situation(logits, self.truth.repeat(DRAWS, 1)))
        scores = self._scores(dense(drawn.outputs(), torch.float64))
        loss = CONTRASTIVE_DIVERGENCE.loss(scores)
        if drawn.score is not None:
            loss = loss + score_function(CONTRASTIVE_DIVERGENCE.loss, scores, loss, drawn.score)
        return torch.autograd.grad(loss.sum(), logits)[0]

    def _scores(self, y: Tensor) -> Scores:
        truth = self.truth.repeat(len(y), 1)
        return Scores(self.energy(None, truth.unsqueeze(1))[:, 0], self.energy(None, y), SPACE.cost(y, truth))


def draw(figures: dict[str, Any], path: Path) -> None:
    figure, axes = panels(2)
    for place, k in zip(axes, (1, 2), strict=True):
        chosen = [entry for entry in figures["curve"] if entry["samples"] == k]
        spots = range(len(chosen))
        place.bar([s - 0.2 for s in spots], [e["bias"] for e in chosen], 0.38, label="bias")
        place.bar([s + 0.2 for s in spots], [e["deviation"] for e in chosen], 0.38, label="standard deviation")
        place.set_xticks(list(spots), [e["estimator"] for e in chosen], rotation=30, ha="right")
        place.set(title=f"{k} sample{'s' if k > 1 else ''}", ylabel="relative to the exact gradient")
    save(figure, path)
