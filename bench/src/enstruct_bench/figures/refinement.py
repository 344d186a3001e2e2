"""What refining the predictor's answer by inference on its energy gives, and what it costs.

Example-F1 under the model's decision, and seconds a row of ``predict_proba``, after 0, 1, 2, ... steps; the last entry,
``CONVERGED`` steps, stands for inference run to its end. Times are medians of a few runs on the machine at hand.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from enstruct.errors import ConfigError
from enstruct.estimators.network_classifier import NetworkClassifier
from enstruct.methods import get_method
from enstruct.metrics import example_f1
from enstruct.plots.labels import panels, save

CONVERGED = 50
STEPS = (None, 1, 2, 3, 5, 10, CONVERGED)
REPEATS = 5


def measure(model: NetworkClassifier, X: Any, Y: Any) -> dict[str, Any]:
    """ConfigError for methods that answer by inference anyway."""
    if get_method(model.method).inference is not None:
        raise ConfigError(f"Method {get_method(model.method).name!r} answers by inference already; analyse its convergence.")
    single = X.astype(np.float32)  # the precision of training, as the energy's own
    curve = []
    for steps in STEPS:
        f1 = {rule: example_f1(Y, model.predict(single, decision=rule, refine=steps)) for rule in ("fixed", model.decision_)}
        taken = []
        for _ in range(REPEATS):
            begin = time.perf_counter()
            model.predict_proba(single, refine=steps)
            taken.append(time.perf_counter() - begin)
        curve.append(
            {
                "steps": steps or 0,
                "f1_at_0.5": f1["fixed"],
                "f1": f1[model.decision_],
                "seconds_per_row": float(np.median(taken)) / X.shape[0],
            }
        )
    plain = curve[0]["seconds_per_row"]
    for entry in curve:
        entry["times_a_forward_pass"] = entry["seconds_per_row"] / plain
    return {"rows": X.shape[0], "decision": model.decision_, "curve": curve}


def draw(figures: dict[str, Any], path: Path) -> None:
    figure, (scores, cost) = panels(2)
    curve = figures["curve"]
    steps = [entry["steps"] for entry in curve]
    for key, label in (("f1", f"rule {figures['decision']}"), ("f1_at_0.5", "at 0.5")):
        scores.plot(steps, [100 * entry[key] for entry in curve], "o-", label=label)
    cost.plot(steps, [entry["times_a_forward_pass"] for entry in curve], "o-")
    for axes in (scores, cost):
        axes.set_xscale("symlog", linthresh=1)
    scores.set(title=f"refined prediction, {figures['rows']} rows", xlabel="steps", ylabel="example-F1")
    cost.set(title="cost of predict_proba", xlabel="steps", ylabel="times a plain forward pass")
    save(figure, path)
