"""The table: a method is a row of values, and the training loop reads the columns, never the name.

| column | what it holds |
|---|---|
| ``negatives`` | where the candidates come from (:mod:`enstruct.negatives`) |
| ``objective`` | how the energy learns (:mod:`enstruct.objectives`) |
| ``predictor_loss`` | what the predictor minimises |
| ``coupling`` | who moves when, and how the energy's gradient is taken (:mod:`enstruct.hypergradients`) |
| ``stages`` | which players learn, one stage after another |
| ``encoder`` | settings of the predictor's network that belong to the method |
| ``solver`` | a convex solver that fits the predictor instead of the loop (linear baselines) |

Formulas: the SEAL paper's Table 2 rows, without the published code's loss errors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from enstruct.baselines.binary_relevance import fit_one_vs_rest
from enstruct.errors import ConfigError, unknown_name
from enstruct.hypergradients import Alternating
from enstruct.negatives import CostAugmentedNet, Negatives, PerturbedSamples, PredictorPoint, PredictorSamples
from enstruct.objectives import MARGIN, NCE, RANKING, REGRESSION, Density, Objective

Supervised = Literal["cross-entropy", "ranking"]


@dataclass(frozen=True)
class PredictorLoss:
    """``supervised_weight * L_sup + energy_weight * E(x, F(x))``.

    For the first ``warmup`` predictor updates the energy's weight rises linearly from 0, so that the predictor first learns where
    to look and the energy what to say. ``supervised="ranking"`` puts the ranking loss straight on the predictor, with its own
    log-probability as the score (the SEAL paper's ablation).
    """

    energy_weight: float = 0.0
    supervised_weight: float = 1.0
    supervised: Supervised = "cross-entropy"
    warmup: int = 0

    def weight_at(self, update: int) -> float:
        """The energy's weight at the predictor's update with this number (from 0)."""
        return self.energy_weight * min(1.0, update / self.warmup if self.warmup else 1.0)

    def __post_init__(self) -> None:
        if self.supervised not in ("cross-entropy", "ranking"):
            raise unknown_name("supervised loss", self.supervised, ("cross-entropy", "ranking"))
        if self.energy_weight < 0 or self.supervised_weight < 0 or self.energy_weight + self.supervised_weight == 0:
            raise ConfigError("energy_weight and supervised_weight must be non-negative and not both zero.")


@dataclass(frozen=True)
class Stage:
    """Who learns. ``energy_in_loss=False`` trains the predictor without its energy term.

    ``fresh_predictor`` puts the predictor back to its first weights, so that what it learnt before only served the energy.
    """

    predictor: bool
    energy: bool
    energy_in_loss: bool = True
    fresh_predictor: bool = False


PREDICTOR_ALONE = (Stage(predictor=True, energy=False, energy_in_loss=False),)
TOGETHER = (Stage(predictor=True, energy=True),)
STATIC = (
    Stage(predictor=True, energy=False, energy_in_loss=False),
    Stage(predictor=False, energy=True),
    Stage(predictor=True, energy=False, fresh_predictor=True),
)


@dataclass(frozen=True)
class Method:
    """One row. ``energy_rate`` is the energy's learning rate relative to the predictor's."""

    name: str
    negatives: Negatives | None = None
    objective: Objective | None = None
    predictor_loss: PredictorLoss = PredictorLoss()
    coupling: Alternating = field(default_factory=Alternating)
    stages: tuple[Stage, ...] = PREDICTOR_ALONE
    energy_rate: float = 1.0
    cost: str = "soft-f1"
    encoder: dict[str, Any] = field(default_factory=dict)
    solver: Callable[..., Any] | None = None

    def __post_init__(self) -> None:
        if self.has_energy and (self.objective is None or self.negatives is None):
            raise ConfigError(f"Method {self.name!r} trains an energy, so it needs an objective and negatives.")
        if self.objective is not None and self.objective.needs_noise and not (self.negatives and self.negatives.has_noise):
            raise ConfigError(
                f"The {self.objective.name!r} objective needs negatives with log-probabilities "
                f"(PredictorSamples), not {type(self.negatives).__name__}."
            )

    @property
    def has_energy(self) -> bool:
        return any(stage.energy for stage in self.stages)

    @property
    def density(self) -> Density:
        return self.objective.density if self.objective is not None and self.has_energy else Density.NONE


CROSS_ENTROPY = Method("cross-entropy")
SEAL_NCE = Method(
    "seal-nce",
    negatives=PredictorSamples(20),
    objective=NCE,
    predictor_loss=PredictorLoss(energy_weight=5.0, warmup=500),
    stages=TOGETHER,
)

METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        CROSS_ENTROPY,
        SEAL_NCE,
        replace(SEAL_NCE, name="seal-ranking", objective=RANKING, predictor_loss=PredictorLoss(energy_weight=2.0, warmup=500)),
        replace(
            SEAL_NCE,
            name="seal-margin",
            negatives=PredictorPoint(),
            objective=MARGIN,
            predictor_loss=PredictorLoss(energy_weight=2.0, warmup=500),
        ),
        replace(
            SEAL_NCE,
            name="seal-regression",
            negatives=PredictorPoint(),
            objective=REGRESSION,
            predictor_loss=PredictorLoss(energy_weight=5.0, warmup=500),
        ),
        replace(
            SEAL_NCE,
            name="seal-regression-s",
            negatives=PerturbedSamples(10, 1.0),
            objective=REGRESSION,
            predictor_loss=PredictorLoss(energy_weight=5.0, warmup=500),
        ),
        replace(SEAL_NCE, name="seal-static-nce", stages=STATIC, predictor_loss=PredictorLoss(energy_weight=0.1)),
        replace(CROSS_ENTROPY, name="low-rank", encoder={"layers": 1, "hidden": 64, "nonlinearity": "identity"}),
        replace(CROSS_ENTROPY, name="mlp", encoder={"layers": 2, "hidden": 150, "nonlinearity": "relu"}),
        replace(CROSS_ENTROPY, name="binary-relevance", solver=fit_one_vs_rest),
    )
}


def get_method(method: str | Method) -> Method:
    """The row called ``method``; a :class:`Method` passes through. ConfigError names the nearest row."""
    if isinstance(method, Method):
        return method
    if method not in METHODS:
        raise unknown_name("method", method, METHODS)
    return METHODS[method]


NEGATIVES = ("samples", "perturbed", "point", "rounded", "cost-augmented")


def make_negatives(name: str) -> Negatives:
    """Negatives by name, with their default sizes."""
    table: dict[str, Negatives] = {
        "samples": PredictorSamples(),
        "perturbed": PerturbedSamples(),
        "point": PredictorPoint(),
        "rounded": PredictorPoint(rounded=True),
        "cost-augmented": CostAugmentedNet(),
    }
    if name not in table:
        raise unknown_name("negatives", name, table)
    return table[name]


def customise(
    method: Method,
    *,
    negatives: str | Negatives | None = None,
    n_samples: int | None = None,
    cost: str | None = None,
    **changes: Any,
) -> Method:
    """A row with some columns changed; None keeps the row's own.

    ``changes``: energy_weight, supervised_weight, supervised, warmup (predictor loss); energy_steps,
    predictor_steps, first, repeats (coupling).
    """
    given = {key: value for key, value in changes.items() if value is not None}
    loss = {k: given.pop(k) for k in ("energy_weight", "supervised_weight", "supervised", "warmup") if k in given}
    steps = {k: given.pop(k) for k in ("energy_steps", "predictor_steps", "first", "repeats") if k in given}
    if given:
        raise unknown_name("method setting", next(iter(given)), (*loss, *steps))
    if not method.has_energy:
        loss = {k: v for k, v in loss.items() if k != "energy_weight"}  # nothing to weigh
        negatives = n_samples = None
    source = make_negatives(negatives) if isinstance(negatives, str) else negatives or method.negatives
    if n_samples is not None:
        if not isinstance(source, (PredictorSamples, PerturbedSamples)):
            raise ConfigError(f"n_samples does not apply to {type(source).__name__}: it gives one candidate a row.")
        source = replace(source, n=n_samples)
    return replace(
        method,
        negatives=source,
        predictor_loss=replace(method.predictor_loss, **loss),
        coupling=replace(method.coupling, **steps),
        cost=cost or method.cost,
    )
