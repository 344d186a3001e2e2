"""What inference on the learning energy gives during training (SEAL Figures 3-5).

On validation rows, every few epochs, example-F1 at the best threshold of

    predictor         F(x)
    from predictor    inference started at F(x)
    from random       inference started at a random point

An energy trained on the predictor's samples is only asked to be right near them; this shows how far "near" reaches.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from enstruct.decisions.thresholds import best_threshold_score
from enstruct.errors import ConfigError
from enstruct.estimators.network_classifier import NetworkClassifier
from enstruct.methods import get_method
from enstruct.plots.labels import panels, save
from enstruct.randomness import repeatable
from enstruct.training.callbacks import Callback
from enstruct.training.predict import predict_by_inference, probabilities

if TYPE_CHECKING:
    from enstruct.training.loop import Loop

CURVES = ("predictor", "from predictor", "from random")


class Watch(Callback):
    """Records the three scores every ``every`` epochs; draws of starts do not disturb the training's."""

    def __init__(self, every: int, steps: int) -> None:
        self.every, self.steps = every, steps
        self.records: list[dict[str, float]] = []

    def on_epoch_end(self, loop: Loop, record: dict[str, Any]) -> None:
        if loop.validation is None or (record["epoch"] - 1) % self.every:
            return
        X, truth = loop.validation.X, loop.validation.Y
        game = loop.game
        energy = game.loss.network
        scores = {"predictor": best_threshold_score(probabilities(game.predictor, X, loop.device), truth)}
        for name, start in (("from predictor", "predictor"), ("from random", "random")):
            how = game.method.refinement(self.steps, start)
            with repeatable(0, loop.device):
                y = predict_by_inference(
                    game.predictor, energy, game.loss.space, how, X, loop.device, tilted=game.method.relative
                )
            scores[name] = best_threshold_score(y, truth)
        self.records.append({"stage": record["stage"], "epoch": record["epoch"], "updates": game.predictor_updates, **scores})


def measure(model: NetworkClassifier, X: Any, Y: Any, X_val: Any, y_val: Any, every: int = 1, steps: int = 30) -> dict[str, Any]:
    """Fits ``model`` (any method with an energy) and returns the curves."""
    if not get_method(model.method).has_energy:
        raise ConfigError(f"Method {model.method!r} has no energy to start inference on.")
    watch = Watch(every, steps)
    model.set_params(callbacks=[*(model.callbacks or []), watch])
    model.fit(X, Y, X_val=X_val, y_val=y_val)
    return {"method": get_method(model.method).name, "steps": steps, "curve": watch.records}


def draw(figures: dict[str, Any], path: Path) -> None:
    figure, (axes,) = panels(1)
    passed = range(1, len(figures["curve"]) + 1)
    for name in CURVES:
        axes.plot(passed, [100 * record[name] for record in figures["curve"]], label=name)
    axes.set(title=f"{figures['method']}: validation F1, tuned threshold", xlabel="record (epochs in order)", ylabel="example-F1")
    save(figure, path)
