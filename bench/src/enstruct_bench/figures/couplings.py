"""Validation F1 against seconds for alternating, unrolled and implicit training, each within the same wall-clock budget.

One method, one seed, the same networks at the start. The coupling changes, and with it what follows from it: alternating
candidates come from the predictor with its dropout on, the others' with it off, and random draws fall otherwise. Times include
the scoring of every epoch, which is the same for all. Nothing ends a fit but the clock, read after every epoch. Run it on an
idle machine.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from enstruct.errors import ConfigError
from enstruct.estimators.network_classifier import NetworkClassifier
from enstruct.hypergradients import Alternating, Coupling, Implicit, Neumann, Unrolled
from enstruct.methods import get_method
from enstruct.plots.labels import panels, save
from enstruct.training.callbacks import Callback

if TYPE_CHECKING:
    from enstruct.training.loop import Loop

METRIC = "example-f1"
COUPLINGS: dict[str, Coupling] = {
    "alternating": Alternating(update_first="predictor"),
    "unrolled 1": Unrolled(1),
    "implicit, 1 term": Implicit(Neumann(1)),
    "implicit, 5 terms": Implicit(Neumann(5)),
}


class Clock(Callback):
    """Ends training after the epoch in which the budget runs out."""

    def __init__(self, seconds: float) -> None:
        self.left = seconds

    def on_epoch_end(self, loop: Loop, record: dict[str, Any]) -> None:
        self.left -= record["seconds"]
        if self.left <= 0:
            loop.stop()


def measure(
    parameters: dict[str, Any], X: Any, Y: Any, X_val: Any, y_val: Any, seconds: float, callbacks: Callable[[str], list[Callback]]
) -> dict[str, Any]:
    """``parameters``: the estimator's, with a method whose candidates are the predictor's; ``callbacks(name)`` for each fit."""
    if not seconds > 0:
        raise ConfigError(f"The budget must be at least a moment, not {seconds} seconds.")
    method = get_method(parameters["method"])
    if not method.has_energy:
        raise ConfigError(f"Method {parameters['method']!r} has no energy whose gradient could be taken in several ways.")
    if parameters.get("monitor", "auto") == "fixed":
        raise ConfigError("This analysis draws scores that monitor='fixed' does not take: leave it out.")
    if parameters.get("metric", METRIC) != METRIC:
        raise ConfigError(f"This analysis draws {METRIC} alone, not {parameters['metric']}.")
    for coupling in COUPLINGS.values():
        method.with_(coupling=coupling)  # what cannot be done is said before anything is trained
    curves = {}
    for name, coupling in COUPLINGS.items():
        settings = {**parameters, "method__coupling": coupling, "n_iter_no_change": 10**6, "max_epochs": 10**6}
        model = NetworkClassifier().set_params(**settings, callbacks=[Clock(seconds), *callbacks(name)])
        model.fit(X, Y, X_val=X_val, y_val=y_val)
        curves[name] = _curve(model.history_)
    return {"method": parameters["method"], "budget_seconds": seconds, "best": {n: _best(c) for n, c in curves.items()}, **curves}


def _curve(history: list[dict[str, Any]]) -> list[dict[str, float]]:
    passed, points = 0.0, []
    for record in history:
        passed += record["seconds"]
        points.append({"seconds": passed, "f1_tuned": record["threshold_score"], "f1_decoded": record["decoded_score"]})
    return points


def _best(curve: list[dict[str, float]]) -> dict[str, float]:
    best = {key: max(point[key] for point in curve) for key in ("f1_tuned", "f1_decoded")}
    return {"epochs": float(len(curve)), **best}


def draw(figures: dict[str, Any], path: Path) -> None:
    figure, axes = panels(2)
    for place, key, title in zip(axes, ("f1_tuned", "f1_decoded"), ("tuned threshold", "expected-F1 decoding"), strict=True):
        for name in COUPLINGS:
            place.plot([p["seconds"] for p in figures[name]], [100 * p[key] for p in figures[name]], label=name)
        place.set(title=f"{figures['method']}: validation F1, {title}", xlabel="seconds of training", ylabel="example-F1")
    save(figure, path)
