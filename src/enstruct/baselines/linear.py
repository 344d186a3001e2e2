"""What linear baselines have in common: weights of every label, and how their C is found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from enstruct.data.rows import Rows
from enstruct.decisions.thresholds import best_threshold_score

Model = tuple[NDArray[Any], NDArray[Any]]
"""Weights (labels, features) and intercepts (labels,)."""
CERTAIN = 20.0
"""Log-odds of a label that never varies."""
STEPS = (2, 1)
"""Places of the grid that are gone at a time: factors of about ten and three."""


def peak(
    fit: Callable[[float, Model | None], Model],
    grid: Sequence[float],
    start: float,
    validation: Rows,
    metric: str,
    should_stop: Callable[[], bool],
) -> tuple[float, Model]:
    """The best C of the grid that was tried, ``start`` first and then uphill, and its model. ``fit(C, best model so far)``."""

    def score(model: Model) -> float:
        return best_threshold_score(predict(model, validation.X), validation.Y, metric, validation.weight)

    place, model = grid.index(start), fit(start, None)
    quality, tried = score(model), {place}
    for step in STEPS:
        for way in (step, -step):
            while not should_stop() and (further := place + way) in range(len(grid)) and further not in tried:
                tried.add(further)
                there = fit(grid[further], model)
                if (value := score(there)) <= quality:
                    break
                place, quality, model = further, value, there
    return grid[place], model


def predict(model: Model, X: Any) -> NDArray[Any]:
    """(rows, labels) sigmoids of the margins."""
    weights, biases = model
    return np.asarray(expit(X @ weights.T + biases))
