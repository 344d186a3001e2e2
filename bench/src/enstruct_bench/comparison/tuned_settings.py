"""The file ``enstruct-bench tune --json`` writes, read again: the best settings of each method, and a line on each to print."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from enstruct.errors import ConfigError, DataError
from enstruct.estimators.base import COLUMN
from enstruct.estimators.network_classifier import NetworkClassifier
from enstruct.estimators.saved_values import decode_parameter
from enstruct.methods import METHODS
from enstruct.records import Shape, read_record
from enstruct_bench.comparison.quantity import Quantity

Parameters = dict[str, Any]
SHAPE: Shape = {
    "best": [
        {
            "method": str,
            "metric": str,
            "trials": {str: int},
            "value": float,
            "settings": {str: object},
            "fixed": {str: object},
        }
    ]
}
"""Of the file (:mod:`enstruct.records`)."""
TITLES = ("method", "validation", "trials", "searched settings")


@dataclass(frozen=True)
class Tuned:
    """``settings``: method -> what was searched for it. ``fixed``: what all trials had. ``written``: the file's own settings.
    ``trials``: how many of each method."""

    path: Path
    settings: dict[str, Parameters]
    fixed: Parameters
    written: dict[str, Parameters]
    trials: dict[str, int]

    @classmethod
    def read(cls, path: Path, metric: str) -> Tuned:
        """DataError for another kind of file, ConfigError for one of another metric."""
        best = read_record(path, SHAPE, "no file of `enstruct-bench tune --json`")["best"]
        if not best:
            raise DataError(f"{path} has no method under best: tune again.")
        metrics, written = {each["metric"] for each in best}, {each["method"]: each["settings"] for each in best}
        settings = {method: _decoded(each, f"{path}: settings of {method}") for method, each in written.items()}
        fixed = _decoded(best[0]["fixed"], f"{path}: fixed")
        trials = {each["method"]: sum(each["trials"].values()) for each in best}
        if metrics != {metric}:
            raise ConfigError(f"{path} was tuned for {', '.join(sorted(metrics))}; add --model.metric, or tune for {metric}.")
        return cls(path, settings, fixed, written, trials)

    def check_equal(self, methods: Iterable[str]) -> None:
        """ConfigError unless these methods, as far as they were searched, had equally many trials."""
        trials = {method: self.trials[method] for method in methods if method in self.trials}
        if len(set(trials.values())) > 1:
            each = ", ".join(f"{number} of {method}" for method, number in trials.items())
            raise ConfigError(
                f"{self.path} holds unequal numbers of trials ({each}), which is no fair comparison: give each the same --trials "
                "in one `enstruct-bench tune`."
            )

    def shared(self, model: Parameters) -> Parameters:
        """Options of a command with what all trials had. ConfigError where an option says otherwise."""
        return self._merged(model, self.fixed)

    def of(self, method: str, model: Parameters) -> Parameters:
        """With what was found for one method. ConfigError for one that was not searched, unless it is fitted by a solver, which
        chooses its own, and where an option says otherwise."""
        if method in self.settings:
            return self._merged(model, self.settings[method])
        if method in METHODS and METHODS[method].solver is not None:
            return model
        raise ConfigError(f"{self.path} has no settings of {method} (it has {', '.join(self.settings)}): tune all methods alike.")

    def _merged(self, model: Parameters, tuned: Parameters) -> Parameters:
        defaults = NetworkClassifier().get_params()
        for name, value in tuned.items():
            if name in model and model[name] not in (defaults[name], value):
                option = name.replace("__", ".") if name.startswith(COLUMN) else f"model.{name}"
                raise ConfigError(
                    f"{self.path} was tuned with {name}={value}: leave --{option} {model[name]} out, or tune with it."
                )
        return {**model, **tuned}


def summary_row(best: Parameters) -> tuple[str, Quantity, str, str]:
    """Of one method's part of the file: its name, the best validation score in percent, how trials ended, what they found."""
    counts = ", ".join(f"{n} {state}" for state, n in best["trials"].items())
    settings = dict(best["settings"])
    if "energy_network" in settings:  # nothing else of it is searched
        settings["units"] = settings.pop("energy_network")["fields"]["units"]
    searched = ", ".join(f"{name.removeprefix(COLUMN)}={_short(value)}" for name, value in settings.items())
    return best["method"], Quantity(100 * best["value"]), counts, searched


def _short(value: Any) -> str:
    """Of an object, what it was built with."""
    if isinstance(value, dict) and "fields" in value:
        return f"{value['value']}({', '.join(f'{k}={_short(v)}' for k, v in value['fields'].items())})"
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _decoded(encoded: Parameters, where: str) -> Parameters:
    """Parameters of the estimator. DataError for names that are none, and for values that cannot be read."""
    decoded, known = {}, NetworkClassifier().get_params()
    for name, value in encoded.items():
        if name not in known:
            raise DataError(f"{where}: there is no parameter {name!r}. Put a copy of the file back, or tune again.")
        try:
            decoded[name] = decode_parameter(name, value)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise DataError(f"{where}: {name} cannot be read ({error}). Put a copy of the file back, or tune again.") from error
    return decoded
