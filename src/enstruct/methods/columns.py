"""What the single columns of a method's row may be that :meth:`Method.with_ <enstruct.methods.Method.with_>` changes.

Those of the predictor's loss and of the coupling go by their own names; objects may be named where they have a name.
"""

from __future__ import annotations

from collections.abc import Mapping

from enstruct import validation
from enstruct.encoders.activations import ACTIVATIONS
from enstruct.hypergradients import Alternating, Coupling, Implicit, Unrolled
from enstruct.negatives import (
    ConditionalSamples,
    CostAugmentedNet,
    InferencePoint,
    LabelFlips,
    Negatives,
    PerturbedSamples,
    PredictorPoint,
    PredictorSamples,
    TokenChanges,
    UnrolledIterates,
    ValueTuples,
)
from enstruct.negatives.sample_gradients import SAMPLE_GRADIENTS, SampleGradient
from enstruct.spaces.costs import COSTS
from enstruct.spaces.masks import MASK_COSTS
from enstruct.validation import Check, one_of, optional, or_object, satisfying, whole

MOST_SAMPLES, MOST_STEPS, MOST_UNITS = 100_000, 1_000_000, 100_000
"""Of one row, of a batch and of an energy: beyond these a slip of the pen would fill the memory."""
SAMPLE_GRADIENT: SampleGradient = "straight-through"
"""How samples pass a gradient where a method differentiates through them; the ablation is in docs/bilevel.md."""
NEGATIVES: dict[str, Negatives] = {
    "samples": PredictorSamples(),
    "conditional": ConditionalSamples(),
    "flips": LabelFlips(),
    "token-changes": TokenChanges(),
    "perturbed": PerturbedSamples(),
    "point": PredictorPoint(),
    "rounded": PredictorPoint(rounded=True),
    "cost-augmented": CostAugmentedNet(),
    "inference": InferencePoint(),
    "value-tuples": ValueTuples(),
    "unrolled": UnrolledIterates(),
}
"""By name, with their default sizes."""
COUPLINGS: dict[str, type[Coupling]] = {"alternating": Alternating, "unrolled": Unrolled, "implicit": Implicit}

_builds = or_object(one_of("negatives", NEGATIVES), lambda value: hasattr(value, "build") and not isinstance(value, type))
is_solver = satisfying(lambda value: hasattr(value, "solve"), "an Inference or another solver of enstruct.inference")

OF_LOSS: Mapping[str, Check] = {
    "energy_weight": validation.not_negative,
    "supervised_weight": validation.not_negative,
    "supervised": one_of("supervised loss", ("cross-entropy", "ranking")),
    "energy_as": one_of("way to learn from an energy", ("value", "marginals")),
    "warmup": validation.not_negative,
    "entropy_weight": validation.number,
    "anchor_weight": validation.not_negative,
    "rule_weight": validation.not_negative,
}
OF_COUPLING: Mapping[str, Check] = {
    "energy_steps": whole(1, MOST_STEPS),
    "predictor_steps": whole(1, MOST_STEPS),
    "rounds_per_batch": whole(1, MOST_STEPS),
    "update_first": one_of("player", ("energy", "predictor")),
}
OF_ENERGY: Mapping[str, Check] = {
    "energy_units": whole(1, MOST_UNITS),
    "energy_nonlinearity": one_of("activation", ACTIVATIONS),
}
"""Of its terms that measure: their number, and what bends them."""
MEASURING = ("global", "conditional", "conv", "mask-conv")
READ_BY: Mapping[str, tuple[str, ...]] = {"energy_units": (*MEASURING, "flow"), "energy_nonlinearity": MEASURING}
"""Column -> the terms that read it."""
OF_CANDIDATES: Mapping[str, Check] = {
    "negatives": _builds,
    "n_samples": whole(1, MOST_SAMPLES),
    "coupling": or_object(one_of("coupling", COUPLINGS), lambda value: isinstance(value, Coupling)),
    "sample_gradient": one_of("sample gradient", SAMPLE_GRADIENTS),
}
COLUMNS: Mapping[str, Check] = {
    **OF_LOSS,
    **OF_COUPLING,
    **OF_CANDIDATES,
    **OF_ENERGY,
    "cost": one_of("cost", {**COSTS, **MASK_COSTS}),
    "inference": is_solver,
    "energy_rate": validation.positive,
    "energy_clip": optional(validation.positive_or_infinite),
    "validation_epochs": whole(0),
}
FORMER = {"hypergradient": "coupling", "first": "update_first", "repeats": "rounds_per_batch"}
"""Columns by the names that they had in enstruct 0.1."""
OF_PLAY = ("energy_weight", "energy_as", "warmup", "entropy_weight", "anchor_weight")
"""Columns of a predictor that an energy teaches."""


def make_negatives(negatives: str | Negatives) -> Negatives:
    """Those of a name, or such an object as it is."""
    return NEGATIVES[negatives] if isinstance(negatives, str) else negatives


def make_coupling(coupling: str | Coupling, like: Coupling) -> Coupling:
    """A coupling by name, with its own defaults and order but the numbers of steps of ``like``; a :class:`Coupling` as it is."""
    if isinstance(coupling, Coupling):
        return coupling
    steps = {name: getattr(like, name) for name in ("energy_steps", "predictor_steps", "rounds_per_batch")}
    return COUPLINGS[coupling](**steps)
