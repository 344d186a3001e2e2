"""Which labels the learned energy draws together and which it keeps apart, beside how often they occur together.

    attraction(i, j) = - mean over rows of  ∂²E(x, y) / ∂y_i ∂y_j    at the predictor's marginals y

With lower-is-better energies two labels attract where the second derivative is negative, so the sign is flipped (the
implicit-training paper's Figure 1 reads it the other way round). Rank correlations (Spearman, over pairs) are with the counts of
joint occurrence and with the correlation of the labels' indicators; the diagonal is left out. Local terms are linear in y and
add nothing. The pictures and the file show the ``SHOWN`` most frequent labels, the correlations count all.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.stats import spearmanr

from enstruct.data.rows import as_indicator
from enstruct.errors import ConfigError
from enstruct.estimators.network_classifier import NetworkClassifier
from enstruct.plots.labels import heat, panels, save
from enstruct.training.predict import Problem

ROWS, SHOWN, PAIRS = 500, 40, 10


def measure(model: NetworkClassifier, X: Any, Y: Any) -> dict[str, Any]:
    """``Y``: indicators (rows, labels). ConfigError if the method has no energy or too few labels."""
    varying = model.data_.constants.varying
    names = [str(label_names(model)[i]) for i in varying]
    truth = as_indicator(Y)[:, varying].toarray().astype(float)
    if len(names) < 3:
        raise ConfigError(f"Pairs of labels need at least three labels that vary, here are {len(names)}.")
    attraction = -second_derivatives(model.inference_problem(X[:ROWS]))
    together = truth.T @ truth
    with np.errstate(invalid="ignore", divide="ignore"):
        related = np.nan_to_num(np.corrcoef(truth.T))  # a label absent from these rows relates to none
    upper = np.triu_indices(len(names), 1)
    order = np.argsort(attraction[upper])
    shown = np.sort(np.argsort(-truth.sum(0), kind="stable")[:SHOWN])
    table = np.ix_(shown, shown)
    return {
        "rows": int(min(ROWS, X.shape[0])),
        "labels": len(names),
        "rank_correlation_with_counts": _spearman(attraction[upper], together[upper]),
        "rank_correlation_with_label_correlation": _spearman(attraction[upper], related[upper]),
        "attract_most": [_pair(names, upper, k, attraction, together) for k in order[::-1][:PAIRS]],
        "repel_most": [_pair(names, upper, k, attraction, together) for k in order[:PAIRS]],
        "shown": [names[i] for i in shown],
        "attraction": _without_diagonal(attraction[table]),
        "together": _without_diagonal(together[table]),
    }


def label_names(model: NetworkClassifier) -> Any:
    """As written by ``enstruct train``, else the estimator's classes."""
    return getattr(model, "notes_", {}).get("label_names", model.classes_)


def second_derivatives(problem: Problem) -> NDArray[np.float64]:
    """(labels, labels) mean over rows of ∂²E/∂y² at the predictor's output; one backward pass a label."""
    y = problem.predicted.detach().clone().unsqueeze(1).requires_grad_()
    energy = problem.energy(problem.state, y).sum()
    (slope,) = torch.autograd.grad(energy, y, create_graph=True)  # (rows, 1, labels)
    n = y.shape[-1]
    if not slope.requires_grad:
        return np.zeros((n, n))
    lines = [torch.autograd.grad(slope[..., i].sum(), y, retain_graph=True)[0].mean((0, 1)) for i in range(n)]
    table = torch.stack(lines).double().cpu().numpy()
    return np.asarray((table + table.T) / 2)


def _spearman(a: NDArray[Any], b: NDArray[Any]) -> float | None:
    """None where one of them is constant: there is no ranking."""
    return None if np.ptp(a) == 0 or np.ptp(b) == 0 else float(spearmanr(a, b).statistic)


def _pair(names: list[str], upper: Any, k: int, attraction: NDArray[Any], together: NDArray[Any]) -> dict[str, Any]:
    i, j = int(upper[0][k]), int(upper[1][k])
    return {"labels": f"{names[i]} + {names[j]}", "attraction": float(attraction[i, j]), "together": int(together[i, j])}


def _without_diagonal(table: NDArray[Any]) -> list[list[float]]:
    table = table.astype(float).copy()
    np.fill_diagonal(table, 0)
    return [[float(f"{value:.4g}") for value in row] for row in table]


def draw(figures: dict[str, Any], path: Path) -> None:
    figure, (left, right) = panels(2)
    attraction, together = np.array(figures["attraction"]), np.log1p(np.array(figures["together"]))
    heat(figure, left, attraction, np.abs(attraction).max() or 1.0, "attraction, -∂²E (red: drawn together)", figures["shown"])
    heat(figure, right, together, together.max() or 1.0, "log(1 + joint occurrences)", figures["shown"])
    save(figure, path)
