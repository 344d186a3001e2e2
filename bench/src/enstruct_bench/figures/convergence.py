"""Steps to convergence, and what ending a batch earlier costs (SPEN Figures 2-4).

    histogram    the step at which each row converges, from the centre of the space and from the predictor's output
    share        accuracy and steps when a batch ends once this share of its rows has converged
    tolerance    the same when a row counts as converged at this relative change of the objective (share 90%, as SPEN)
    seconds      per row, when every row stops by itself ("compacted") and when all wait for the last one

Accuracy is example-F1 under the model's decision. Times are one run each on the machine at hand.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from enstruct.errors import ConfigError
from enstruct.estimators.network_classifier import NetworkClassifier
from enstruct.inference import Inference, Solution
from enstruct.methods import get_method
from enstruct.metrics import example_f1
from enstruct.plots.labels import panels, save

STARTS = ("uniform", "predictor")
SHARES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0)
TOLERANCES = (1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4)
TOLERANCE, SHARE = 1e-3, 0.9


def measure(model: NetworkClassifier, X: Any, Y: Any, most_steps: int = 200) -> dict[str, Any]:
    """``X, Y``: labelled rows; ``most_steps`` ends rows that do not converge. ConfigError for answers that are not iterated."""
    if not isinstance(model.inference_settings(), Inference):
        raise ConfigError(f"Method {get_method(model.method).name!r} takes a fixed number of steps: nothing converges there.")
    n = X.shape[0]

    def run(**changes: Any) -> tuple[Solution, dict[str, float]]:
        begin = time.perf_counter()
        inferred = model.infer(X, **{"steps": most_steps, "tolerance": TOLERANCE, "stable": None, **changes})
        seconds = time.perf_counter() - begin
        steps = inferred.steps.double()
        f1 = example_f1(Y, model.decide(X, inferred.y.cpu().numpy()))
        cost = {"steps": int(steps.max()), "mean_steps": float(steps.mean()), "seconds_per_row": seconds / n}
        return inferred, {"f1": f1, **cost}

    figures: dict[str, Any] = {"rows": n, "most_steps": most_steps, "tolerance": TOLERANCE, "share": SHARE}
    for start in STARTS:
        inferred, whole = run(starts=(start,))
        waiting = run(starts=(start,), compact=False)[1]
        figures[start] = {
            "steps": inferred.steps.tolist(),
            "converged": float(inferred.converged.double().mean()),
            "to_convergence": whole,
            "waiting_for_the_last": waiting,
            "by_share": [{"share": share, **run(starts=(start,), share=share)[1]} for share in SHARES],
            "by_tolerance": [{"tolerance": t, **run(starts=(start,), tolerance=t, share=SHARE)[1]} for t in TOLERANCES],
        }
    return figures


def draw(figures: dict[str, Any], path: Path) -> None:
    figure, (histogram, share, tolerance) = panels(3)
    for start in STARTS:
        of = figures[start]
        histogram.hist(of["steps"], bins=np.arange(0, max(of["steps"]) + 2), alpha=0.6, label=f"start: {start}")
        for axes, key in ((share, "share"), (tolerance, "tolerance")):
            rows = of[f"by_{key}"]
            axes.plot([row["steps"] for row in rows], [100 * row["f1"] for row in rows], "o-", label=f"start: {start}")
            for row in rows:
                axes.annotate(f"{row[key]:g}", (row["steps"], 100 * row["f1"]), fontsize=7)
    histogram.set(title="steps until a row converges", xlabel="step", ylabel="rows")
    share.set(title="ending at a share of converged rows", xlabel="steps of the batch", ylabel="example-F1")
    tolerance.set(title=f"ending at a tolerance (share {figures['share']:.0%})", xlabel="steps of the batch", ylabel="example-F1")
    save(figure, path)
