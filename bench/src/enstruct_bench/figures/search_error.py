"""How often inference misses the energy's minimum over label sets.

A row is a search error when its answer, rounded, costs more energy than the best label set. That set is known by
enumeration (up to 16 labels) or by the integer program (pairwise energies). For other energies only a lower bound can be
had: errors *proved* by a label set that costs less, the true one or the best of ``RESTARTS`` random restarts, rounded.
``truth_above`` is the share of rows whose true label set costs more than the answer: there the energy, not the search, is wrong.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from enstruct.data.rows import as_indicator
from enstruct.errors import ConfigError
from enstruct.estimators.network_classifier import NetworkClassifier
from enstruct.inference import Exact, Inference
from enstruct.inference.exact import MOST_LABELS, pairwise_form
from enstruct.plots.labels import panels, save
from enstruct.training.predict import Problem

RESTARTS = 10
SLACK = 1e-5
"""Relative difference of energies that counts: float32 sums of the same terms differ by less."""


def measure(model: NetworkClassifier, X: Any, Y: Any) -> dict[str, Any]:
    """``Y``: indicators (rows, labels). Runs the model's own inference, and ``RESTARTS`` random starts beside it."""
    problem = model.inference_problem(X)
    answer = _energy(problem, _rounded(model.infer(X).y))
    truth = _energy(
        problem,
        torch.from_numpy(as_indicator(Y)[:, model.data_.constants.varying].toarray()).float().to(problem.predicted.device),
    )
    exact = exact_solver(problem)
    best = (
        np.minimum(_energy(problem, _rounded(_restarted(model, X))), truth)
        if exact is None
        else problem.solve(exact).energy.cpu().numpy()
    )
    gap = answer - best
    wrong = gap > SLACK * (1 + np.abs(best))
    return {
        "rows": len(gap),
        "best_known_by": "truth and random restarts: a lower bound" if exact is None else exact.solver,
        "search_errors": float(wrong.mean()),
        "mean_gap_of_errors": float(gap[wrong].mean()) if wrong.any() else 0.0,
        "truth_above": float((truth > answer + SLACK * (1 + np.abs(answer))).mean()),
        "gaps": np.maximum(gap, 0).tolist(),
    }


def exact_solver(problem: Problem) -> Exact | None:
    """A solver that certainly finds the minimum, or None."""
    if problem.predicted.shape[1] <= MOST_LABELS:
        return Exact("enumeration")
    try:
        pairwise_form(problem.energy, problem.state)
    except ConfigError:
        return None
    return Exact("integer-program")


def _restarted(model: NetworkClassifier, X: Any) -> torch.Tensor:
    own = model.inference_settings()
    settings = own if isinstance(own, Inference) else Inference(steps=100)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return model.infer(X, replace(settings, starts=("uniform", "predictor", *["random"] * RESTARTS))).y


def _rounded(y: torch.Tensor) -> torch.Tensor:
    return (y >= 0.5).float()


@torch.no_grad()
def _energy(problem: Problem, y: torch.Tensor) -> NDArray[np.float64]:
    """(rows,)"""
    return np.asarray(problem.energy(problem.state, y.unsqueeze(1)).squeeze(1).double().cpu().numpy())


def draw(figures: dict[str, Any], path: Path) -> None:
    figure, (axes,) = panels(1)
    gaps = np.array(figures["gaps"])
    axes.hist(gaps[gaps > 0] if (gaps > 0).any() else [0.0], bins=40)
    axes.set(
        title=f"search errors: {100 * figures['search_errors']:.1f}% of {figures['rows']} rows ({figures['best_known_by']})",
        xlabel="energy above the best known",
        ylabel="rows",
    )
    save(figure, path)
