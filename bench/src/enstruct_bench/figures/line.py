"""The energy along the straight line from the prediction to the truth.

    e(t) = E(x, (1 - t) F(x) + t y) - E(x, F(x)),      t = 0 .. 1

A good loss falls on the way: its gradient at the prediction points towards the truth. Reported: the mean and quartiles of e(t),
the share of rows whose truth has less energy than the prediction, and the share that starts downhill. E is the bare energy, as
the predictor's loss has it; up to ``ROWS`` rows.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch

from enstruct.data.rows import as_indicator
from enstruct.estimators.network_classifier import NetworkClassifier
from enstruct.plots.labels import panels, save

POINTS, ROWS = 21, 500


def measure(model: NetworkClassifier, X: Any, Y: Any) -> dict[str, Any]:
    """``Y``: indicators (rows, labels). ConfigError if the method has no energy."""
    problem = model.inference_problem(X[:ROWS], bare=True)
    truth = torch.from_numpy(as_indicator(Y[:ROWS])[:, model.data_.constants.varying].toarray()).to(problem.predicted)
    t = torch.linspace(0, 1, POINTS, dtype=truth.dtype, device=truth.device).view(1, -1, 1)
    line = (1 - t) * problem.predicted.unsqueeze(1) + t * truth.unsqueeze(1)  # (rows, points, labels)
    with torch.no_grad():
        energy = problem.energy(problem.state, line).double().cpu().numpy()
    gain = energy - energy[:, :1]
    return {
        "rows": len(gain),
        "truth_below_prediction": float((gain[:, -1] < 0).mean()),
        "starts_downhill": float((gain[:, 1] < 0).mean()),
        "falls_all_the_way": float((np.diff(gain, axis=1) <= 0).all(1).mean()),
        "curve": [
            {"t": float(at), "mean": float(column.mean()), **_quartiles(column)}
            for at, column in zip(t.flatten().tolist(), gain.T, strict=True)
        ],
    }


def _quartiles(values: Any) -> dict[str, float]:
    return {f"{q}%": float(np.percentile(values, q)) for q in (25, 50, 75)}


def draw(figures: dict[str, Any], path: Path) -> None:
    figure, (axes,) = panels(1)
    curve = figures["curve"]
    t = [point["t"] for point in curve]
    axes.fill_between(t, [p["25%"] for p in curve], [p["75%"] for p in curve], alpha=0.3, label="middle half of the rows")
    axes.plot(t, [p["mean"] for p in curve], label="mean")
    axes.axhline(0, color="black", lw=0.8)
    share = 100 * figures["truth_below_prediction"]
    axes.set(title=f"truth below prediction on {share:.0f}% of rows", xlabel="prediction → truth", ylabel="E - E(prediction)")
    save(figure, path)
