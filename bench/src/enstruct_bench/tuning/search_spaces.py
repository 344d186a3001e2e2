"""What is searched for each method: the ranges of SEAL's published sweeps, one table of dimensions.

learning_rate, energy_learning_rate   log-uniform in e^[-11.5, -4.5]
energy_weight                         log-uniform in e^[-6.9, 2.3]
n_samples                             20, 40, ..., 100 (of perturbed samples 5 .. 50), their std log-uniform in e^[-6.9, 1.6]
energy_steps, rounds_per_batch        1, 3, 6, 9, 12 and 1, 5, 10, as far as ``most_updates`` energy updates a batch allow;
                                      rounds of what has no energy too: else one side alone could learn more from a batch
inference_rate                        of methods that answer by it, log-uniform in e^[-5, 0]
layers, hidden, dropout               of both networks: 1 .. 5, 200 .. 500, 0 .. 0.5
units                                 of energies that measure the output: 200 .. 400

What a method fixes itself, or has no use for, is not searched.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from enstruct.energies import EnergySpec
from enstruct.errors import ConfigError
from enstruct.inference import Inference
from enstruct.methods import Method
from enstruct.negatives import PerturbedSamples, PredictorSamples

if TYPE_CHECKING:
    from optuna import Trial

RATES = (math.exp(-11.5), math.exp(-4.5))
WEIGHTS = (math.exp(-6.9), math.exp(2.3))
SPREADS = (math.exp(-6.9), math.exp(1.6))
INFERENCE_RATES = (math.exp(-5), 1.0)
ENERGY_STEPS, REPEATS = (1, 3, 6, 9, 12), (1, 5, 10)
DEFAULT_RATE = 1e-3
"""The estimator's learning rate, which the energy's is told in parts of."""
MEASURING = frozenset(("global", "conditional", "conv"))
"""Terms that have units."""


def suggest(trial: Trial, method: Method, most_updates: int = 10) -> dict[str, Any]:
    """Parameters of the estimator for one trial. ConfigError for methods that a solver fits, which have nothing to search."""
    if method.solver is not None:
        raise ConfigError(f"{method.name!r} is fitted by a solver that chooses its own settings: there is nothing to tune.")
    if most_updates < 1:
        raise ConfigError(f"most_updates must be at least 1, not {most_updates}.")
    suggested = _of_networks(trial, method)
    if any(stage.predictor for stage in method.stages):
        suggested["learning_rate"] = trial.suggest_float("learning_rate", *RATES, log=True)
    if not method.has_energy:
        return suggested | {"method__rounds_per_batch": _rounds(trial, most_updates)}
    rate = trial.suggest_float("energy_learning_rate", *RATES, log=True)
    suggested["method__energy_rate"] = rate / suggested.get("learning_rate", DEFAULT_RATE)
    if MEASURING & {*EnergySpec(**method.energy).terms}:
        units = trial.suggest_int("units", 200, 400, step=100)
        suggested["energy_network"] = replace(EnergySpec(**method.energy), units=units)
    plays = any(stage.predictor and stage.energy_in_loss for stage in method.stages)
    if plays:
        suggested["method__energy_weight"] = trial.suggest_float("energy_weight", *WEIGHTS, log=True)
    if isinstance(method.negatives, PredictorSamples):
        suggested["method__n_samples"] = trial.suggest_int("n_samples", 20, 100, step=20)
    elif isinstance(method.negatives, PerturbedSamples):
        std = trial.suggest_float("std", *SPREADS, log=True)
        suggested["method__negatives"] = PerturbedSamples(trial.suggest_int("n_samples", 5, 50, step=5), std)
    if isinstance(method.inference, Inference):
        rate = trial.suggest_float("inference_rate", *INFERENCE_RATES, log=True)
        suggested["method__inference"] = replace(method.inference, rule=replace(method.inference.rule, rate=rate))  # type: ignore[type-var]
    if plays and any(stage.energy and stage.predictor for stage in method.stages) and not method.coupling.through_predictor:
        rounds = _rounds(trial, most_updates)
        wished = trial.suggest_categorical("energy_steps", list(ENERGY_STEPS))
        suggested |= {"method__rounds_per_batch": rounds, "method__energy_steps": max(1, min(wished, most_updates // rounds))}
    return suggested


def _rounds(trial: Trial, most_updates: int) -> int:
    """Of updates, a batch."""
    return int(trial.suggest_categorical("rounds_per_batch", [n for n in REPEATS if n <= most_updates]))


def _of_networks(trial: Trial, method: Method) -> dict[str, Any]:
    """But for what the method's own encoder sets, and without layers nothing else."""
    suggested: dict[str, Any] = {}
    if "layers" not in method.encoder:
        suggested["layers"] = trial.suggest_int("layers", 1, 5)
    if method.encoder.get("layers") != 0:
        if "hidden" not in method.encoder:
            suggested["hidden"] = trial.suggest_int("hidden", 200, 500, step=100)
        suggested["dropout"] = trial.suggest_float("dropout", 0.0, 0.5, step=0.1)
    return suggested
