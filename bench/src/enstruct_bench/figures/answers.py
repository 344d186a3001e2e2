"""How nearly binary relaxed answers are: the histogram of y over rows and labels (SPEN section 7.4: "spiked at 0 or 1").

Beside it the predictor's own marginals. ``spiked`` is the share of entries within ``NEAR`` of 0 or 1; since most labels of
a row are off, it is also given for the entries above 0.1 alone.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from enstruct.estimators.network_classifier import NetworkClassifier
from enstruct.plots.labels import panels, save

BINS = np.linspace(0, 1, 51)
NEAR = 0.01


def measure(model: NetworkClassifier, X: Any, Y: Any) -> dict[str, Any]:
    """The truth Y is not needed; every analysis of a model is called alike."""
    problem = model.inference_problem(X)
    inferred = model.infer(X)
    return {
        "rows": X.shape[0],
        "status": inferred.status,
        "inference": _summary(inferred.y.cpu().numpy()),
        "predictor": _summary(problem.predicted.cpu().numpy()),
    }


def _summary(y: NDArray[Any]) -> dict[str, Any]:
    spiked = (y < NEAR) | (y > 1 - NEAR)
    on = y > 0.1
    return {
        "counts": np.histogram(y, BINS)[0].tolist(),
        "spiked": float(spiked.mean()),
        "spiked_above_0.1": float(spiked[on].mean()) if on.any() else None,
    }


def draw(figures: dict[str, Any], path: Path) -> None:
    figure, axes = panels(2)
    for ax, who in zip(axes, ("inference", "predictor"), strict=True):
        of = figures[who]
        ax.stairs(of["counts"], BINS, fill=True)
        ax.set_yscale("symlog", linthresh=1)
        ax.set(title=f"{who}: {100 * of['spiked']:.1f}% within {NEAR:g} of 0 or 1", xlabel="relaxed y", ylabel="entries")
    save(figure, path)
