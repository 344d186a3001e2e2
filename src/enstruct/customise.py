"""A row of the method table with some columns changed: what the estimator's and the drop-in loss's arguments do to a method."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from enstruct.errors import ConfigError, unknown_name
from enstruct.hypergradients import Alternating, Coupling, Implicit, Unrolled
from enstruct.inference import Solver
from enstruct.methods import SAMPLE_GRADIENT, Method
from enstruct.negatives import (
    CostAugmentedNet,
    InferencePoint,
    Negatives,
    PerturbedSamples,
    PredictorPoint,
    PredictorSamples,
    UnrolledIterates,
    ValueTuples,
)
from enstruct.negatives.sample_gradients import SampleGradient
from enstruct.objectives import Density
from enstruct.validation import one_of

LOSS_SETTINGS = ("energy_weight", "supervised_weight", "supervised", "warmup", "entropy_weight", "anchor_weight")
COUPLING_SETTINGS = ("energy_steps", "predictor_steps", "first", "repeats")
OF_PLAY = ("energy_weight", "warmup", "entropy_weight", "anchor_weight")
"""Settings of a predictor that an energy teaches."""
OF_ENERGY = (
    *("energy_network", "energy_learning_rate", "energy_clip", "energy_steps", "first"),
    *("negatives", "n_samples", "cost", "hypergradient", "sample_gradient"),
)
"""What is about the energy alone; :func:`customise` refuses some of these where a method has an energy that they do not fit."""
OF_NETWORKS = (
    *(*LOSS_SETTINGS, *COUPLING_SETTINGS, "nonlinearity", "encoder", "hidden", "layers", "dropout"),
    *("learning_rate", "weight_decay", "clip", "batch_size", "optimizer"),
    *("max_iter", "n_iter_no_change", "tol", "monitor", "learn_constant"),
)
"""What is about networks and their training."""


NEGATIVES: dict[str, Negatives] = {
    "samples": PredictorSamples(),
    "perturbed": PerturbedSamples(),
    "point": PredictorPoint(),
    "rounded": PredictorPoint(rounded=True),
    "cost-augmented": CostAugmentedNet(),
    "inference": InferencePoint(),
    "value-tuples": ValueTuples(),
    "unrolled": UnrolledIterates(),
}
"""By name, with their default sizes."""


def make_negatives(given: str | Negatives) -> Negatives:
    """Those of a name, or such an object as it is. ConfigError for anything else."""
    if not isinstance(given, str) and hasattr(given, "build"):
        return given
    one_of("kind of negatives", NEGATIVES)("negatives", given)
    return NEGATIVES[cast(str, given)]


COUPLINGS: dict[str, type[Coupling]] = {"alternating": Alternating, "unrolled": Unrolled, "implicit": Implicit}


def make_coupling(hypergradient: str | Coupling, like: Coupling) -> Coupling:
    """A coupling by name, with its own defaults and order but the numbers of steps of ``like``; a :class:`Coupling` as it is."""
    if isinstance(hypergradient, Coupling):
        return hypergradient
    one_of("hypergradient", COUPLINGS)("hypergradient", hypergradient)
    steps = {name: getattr(like, name) for name in ("energy_steps", "predictor_steps", "repeats")}
    return COUPLINGS[hypergradient](**steps)


def customise(
    method: Method,
    *,
    negatives: str | Negatives | None = None,
    n_samples: int | None = None,
    cost: str | None = None,
    hypergradient: str | Coupling | None = None,
    sample_gradient: SampleGradient | None = None,
    inference: Solver | None = None,
    **changes: Any,
) -> Method:
    """A row with some columns changed; None keeps the row's own.

    ``inference`` is for methods that answer by it. ``changes``: ``LOSS_SETTINGS`` (predictor loss) and ``COUPLING_SETTINGS``. A
    hypergradient that goes through the predictor gives samples ``SAMPLE_GRADIENT`` where none is named, since constant samples
    would leave it nothing to do.
    """
    given = {key: value for key, value in changes.items() if value is not None}
    loss = {k: given.pop(k) for k in LOSS_SETTINGS if k in given}
    steps = {k: given.pop(k) for k in COUPLING_SETTINGS if k in given}
    if given:
        raise unknown_name("method setting", next(iter(given)), (*LOSS_SETTINGS, *COUPLING_SETTINGS))
    if not any(stage.predictor and stage.energy_in_loss for stage in method.stages):
        loss = {k: v for k, v in loss.items() if k not in OF_PLAY}  # nothing to weigh
    if not method.has_energy:
        negatives = n_samples = hypergradient = sample_gradient = None
    source = method.negatives if negatives is None else make_negatives(negatives)
    if n_samples is not None:
        if not isinstance(source, (PredictorSamples, PerturbedSamples)):
            raise ConfigError(f"n_samples does not apply to {type(source).__name__}: it gives one candidate a row.")
        source = replace(source, n=n_samples)
    if inference is not None and not hasattr(inference, "solve"):
        raise ConfigError(f"inference= takes an Inference or another solver of enstruct.inference, not {inference!r}.")
    if inference is not None and method.inference is None:
        raise ConfigError(f"Method {method.name!r} answers by its predictor: inference= is for those that answer by the energy.")
    coupling = method.coupling if hypergradient is None else make_coupling(hypergradient, method.coupling)
    if sample_gradient is not None and not coupling.through_predictor:
        raise ConfigError("sample_gradient serves couplings that go through the predictor: 'unrolled' or 'implicit'.")
    if isinstance(source, PredictorSamples) and coupling.through_predictor:
        source = replace(source, gradient=sample_gradient or source.gradient or SAMPLE_GRADIENT)
    elif sample_gradient is not None:
        raise ConfigError(f"sample_gradient does not apply to {type(source).__name__}: it draws no discrete samples.")
    return replace(
        method,
        negatives=source,
        predictor_loss=replace(method.predictor_loss, **loss),
        coupling=replace(coupling, **steps),
        cost=method.cost if cost is None else cost,
        inference=method.inference if inference is None else inference,
    )


def idle_settings(method: Method) -> set[str]:
    """Parameters of the estimators that do nothing for a method, as comparisons set them for all of theirs at once."""
    idle: set[str] = set() if method.density is not Density.NONE else {"bayes_risk_samples"}
    if not any(stage.predictor and stage.energy_in_loss for stage in method.stages):
        idle |= {*OF_PLAY}
    if not method.has_energy:
        idle |= {*OF_ENERGY}
    idle |= {*method.encoder}
    if method.encoder.get("layers") == 0:
        idle |= {"hidden", "dropout", "nonlinearity"}
    if method.solver is not None:
        idle |= {*OF_NETWORKS}
    return idle
