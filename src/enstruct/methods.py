"""The table: a method is a row of values, and the training loop reads the columns, never the name.

| column | what it holds |
|---|---|
| ``negatives`` | where the candidates come from (:mod:`enstruct.negatives`) |
| ``objective`` | how the energy learns (:mod:`enstruct.objectives`) |
| ``predictor_loss`` | what the predictor minimises |
| ``coupling`` | who moves when, and how the energy's gradient is taken (:mod:`enstruct.hypergradients`) |
| ``stages`` | which players learn, one stage after another |
| ``encoder`` | settings of the predictor's network that belong to the method |
| ``energy`` | settings of the energy network that belong to the method |
| ``inference`` | how answers come from minimising the energy; None: the predictor answers |
| ``solver`` | what fits the predictor instead of the loop (linear models and trees, :mod:`enstruct.baselines`) |
| ``scaling`` | what ``standardize="auto"`` stands for where the method needs features of its own |

Formulas: the SEAL paper's Table 2 rows, without the published code's loss errors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from enstruct.baselines import fit_extra_trees, fit_one_vs_rest
from enstruct.errors import ConfigError, unknown_name
from enstruct.hypergradients import Alternating, Coupling, Implicit
from enstruct.inference import MEAN_FIELD, Exact, Inference, MirrorDescent, ProjectedGradient, Solver, Unrolled
from enstruct.inference.exact import SolverName
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
from enstruct.objectives import (
    CONTRASTIVE_DIVERGENCE,
    END_TO_END,
    MARGIN,
    MARGIN_PERCEPTRON,
    NCE,
    RANKING,
    REGRESSION,
    Density,
    Objective,
)
from enstruct.validation import one_of

BOUNDED_COSTS = ("soft-f1", "hamming-mean", "soft-iou")
Supervised = Literal["cross-entropy", "ranking"]


@dataclass(frozen=True)
class PredictorLoss:
    """``supervised_weight * L_sup + energy_weight * E(x, F(x))``.

    For the first ``warmup`` predictor updates the energy's weight rises linearly from 0, so that the predictor first learns where
    to look and the energy what to say; not without a supervised loss. ``supervised="ranking"`` puts the ranking loss straight on
    the predictor, with its own log-probability as the score (the SEAL paper's ablation).

    Inference networks (Tu & Gimpel 2018) play against the energy instead: ``augmented`` puts ``E(x, F(x)) - Δ(F(x), y)`` in the
    place of the energy, ``hinged`` silences it where the margin's hinge is already zero. Their stabilising terms, wherever the
    energy is in the loss: ``entropy_weight H(F(x)) / L`` minimised, which rises with the energy's weight during the warm-up,
    and ``anchor_weight ||θ - θ0||²`` to the weights the stage began with. A negative entropy weight softens answers: with
    ``energy_weight`` w and ``entropy_weight`` -w L (L labels, or tags of a token) both are w KL(F(x) || exp(-E)/Z) up to a
    constant, its expectation taken at the mean. ``expectation_weight`` weighs what a person expects of words
    (:mod:`enstruct.weak_supervision.expectations`).
    """

    energy_weight: float = 0.0
    supervised_weight: float = 1.0
    supervised: Supervised = "cross-entropy"
    warmup: int = 0
    hinged: bool = False
    augmented: bool = False
    entropy_weight: float = 0.0
    anchor_weight: float = 0.0
    expectation_weight: float = 0.0

    def weight_at(self, update: int) -> float:
        """The energy's weight at the predictor's update with this number (from 0)."""
        rises = self.warmup and self.supervised_weight  # without a supervised loss there is nothing to learn first
        return self.energy_weight * (min(1.0, update / self.warmup) if rises else 1.0)

    def __post_init__(self) -> None:
        if self.supervised not in ("cross-entropy", "ranking"):
            raise unknown_name("supervised loss", self.supervised, ("cross-entropy", "ranking"))
        if not all(number >= 0 for number in (self.anchor_weight, self.expectation_weight, self.warmup)):
            raise ConfigError("anchor_weight, expectation_weight and warmup must not be negative.")
        if not (self.energy_weight >= 0 and self.supervised_weight >= 0 and self.energy_weight + self.supervised_weight > 0):
            raise ConfigError("energy_weight and supervised_weight must be non-negative and not both zero.")
        if self.entropy_weight and not self.energy_weight:
            raise ConfigError("entropy_weight belongs to the game with an energy: with energy_weight=0 leave it out.")


@dataclass(frozen=True)
class Stage:
    """Who learns. ``energy_in_loss=False`` trains the predictor without its energy term.

    ``fresh_predictor`` puts the predictor back to its first weights, so that what it learnt before only served the energy.
    ``transplant`` first gives the energy the predictor's features and E_local = -logits; ``clamped`` names parts of the
    energy ("features", "local", ...) that stay as they are; ``rate`` scales the learning rates, ``predictor_rate`` the
    predictor's once more; ``retune`` minimises the bare energy, without cost augmentation.
    """

    predictor: bool
    energy: bool
    energy_in_loss: bool = True
    fresh_predictor: bool = False
    transplant: bool = False
    clamped: tuple[str, ...] = ()
    rate: float = 1.0
    predictor_rate: float = 1.0
    retune: bool = False


PREDICTOR_ALONE = (Stage(predictor=True, energy=False, energy_in_loss=False),)
TOGETHER = (Stage(predictor=True, energy=True),)
ENERGY_ALONE = (Stage(predictor=False, energy=True),)
NOISE_THEN_ENERGY = (*PREDICTOR_ALONE, *ENERGY_ALONE)
THREE_STAGES = (  # SPEN A.4: local energy first, then the global one, then all together at a small rate
    *PREDICTOR_ALONE,
    Stage(predictor=False, energy=True, transplant=True, clamped=("features", "local")),
    Stage(predictor=False, energy=True, rate=0.1),
)
PRETRAINED_UNARIES = THREE_STAGES[:2]
THEN_PREDICTOR = Stage(predictor=True, energy=False, fresh_predictor=True)
WARM_START_THEN_GAME = (*PREDICTOR_ALONE, Stage(predictor=True, energy=True, transplant=True, clamped=("features",)))


REFINEMENT = MirrorDescent(rate=0.5, momentum=0.0)
"""With temperature 1 a step of it is a half-damped parallel mean-field update."""


@dataclass(frozen=True)
class Method:
    """One row. ``energy_rate`` is the energy's learning rate relative to the predictor's."""

    name: str
    negatives: Negatives | None = None
    objective: Objective | None = None
    predictor_loss: PredictorLoss = PredictorLoss()
    coupling: Coupling = field(default_factory=Alternating)
    stages: tuple[Stage, ...] = PREDICTOR_ALONE
    energy_rate: float = 1.0
    cost: str = "soft-f1"
    encoder: dict[str, Any] = field(default_factory=dict)
    energy: dict[str, Any] = field(default_factory=dict)
    inference: Solver | None = None
    solver: Callable[..., Any] | None = None
    scaling: str = "auto"

    def __post_init__(self) -> None:
        if self.has_energy and (self.objective is None or self.negatives is None):
            raise ConfigError(f"Method {self.name!r} trains an energy, so it needs an objective and negatives.")
        if self.objective is not None and self.objective.absolute_cost and self.cost not in BOUNDED_COSTS:
            raise ConfigError(
                f"The {self.objective.name!r} objective learns the cost itself, so that must lie in [0, 1]: "
                f"{' or '.join(BOUNDED_COSTS)}, not {self.cost!r}."
            )
        if self.objective is not None and self.objective.needs_noise and not (self.negatives and self.negatives.has_noise):
            raise ConfigError(
                f"The {self.objective.name!r} objective needs negatives with log-probabilities "
                f"(PredictorSamples), not {type(self.negatives).__name__}."
            )
        self._check_answers()
        if self.has_energy and self.coupling.through_predictor and not any(s.predictor and s.energy for s in self.stages):
            raise ConfigError(
                f"{type(self.coupling).__name__} counts how the predictor reacts to the energy, but no stage of {self.name!r} "
                "trains both: use Alternating()."
            )
        if self.has_energy and self.coupling.through_predictor and not (self.negatives and self.negatives.differentiable):
            raise ConfigError(
                f"{type(self.coupling).__name__} counts how the candidates move with the predictor; {self.negatives} carry no "
                "gradient to it, so its term would be zero. Use PredictorPoint(), PerturbedSamples() or "
                f"PredictorSamples(gradient='{SAMPLE_GRADIENT}'), or Alternating()."
            )

    def _check_answers(self) -> None:
        """Objectives that are about answers of a kind."""
        if self.objective is MARGIN_PERCEPTRON and not getattr(self.negatives, "with_predictor", False):
            raise ConfigError(
                "The 'margin-perceptron' objective compares a cost-augmented net's answer with the predictor's: it needs "
                f"CostAugmentedNet(with_predictor=True), not {self.negatives}."
            )
        if self.objective is END_TO_END and not (isinstance(self.negatives, UnrolledIterates) and not self.negatives.detached):
            raise ConfigError(
                "The 'end-to-end' objective trains the energy through the answers that inference gives: it needs "
                f"UnrolledIterates(), not detached, not {self.negatives}."
            )

    @property
    def has_energy(self) -> bool:
        return any(stage.energy for stage in self.stages)

    @property
    def density(self) -> Density:
        """What the energy estimates. Ranking's is relative to whatever the candidates are drawn from: none to speak of, unless
        that is the predictor's own distribution."""
        found = self.objective.density if self.objective is not None and self.has_energy else Density.NONE
        return Density.NONE if found is Density.RELATIVE and not getattr(self.negatives, "exact", False) else found

    @property
    def relative(self) -> bool:
        """Whether exp(-E) is relative to the predictor's distribution, which inference that refines it must add."""
        return self.density is Density.RELATIVE

    def refinement(self, steps: int, start: str = "predictor") -> Unrolled:
        """Steps on the energy where the predictor answers; damped mean-field updates where the energy gives a density."""
        temperature = 0.0 if self.density is Density.NONE else 1.0
        return Unrolled(REFINEMENT, steps, start, temperature, as_value=self.objective is REGRESSION)


CROSS_ENTROPY = Method("cross-entropy")
BINARY_RELEVANCE = Method("binary-relevance", solver=fit_one_vs_rest)
EXTRA_TREES = Method("extra-trees", solver=fit_extra_trees)
SEAL_NCE = Method(
    "seal-nce",
    negatives=PredictorSamples(20),
    objective=NCE,
    predictor_loss=PredictorLoss(energy_weight=3.0, warmup=500),
    stages=TOGETHER,
)

SPEN_INFERENCE = Inference(steps=50, starts=("predictor",), tolerance=1e-3, stable=3)
SPEN = Method(
    "spen",
    negatives=InferencePoint(Inference(steps=20, starts=("predictor",)), augmented=True),
    objective=MARGIN,
    stages=THREE_STAGES,
    cost="squared",
    energy={"features": "copied", "units": 32},
    inference=SPEN_INFERENCE,
)
DVN = Method(
    "dvn",
    negatives=ValueTuples(Inference(ProjectedGradient(0.5), starts=("zeros",), steps=20, as_value=True)),
    objective=REGRESSION,
    stages=ENERGY_ALONE,
    inference=Inference(ProjectedGradient(0.5), starts=("zeros",), steps=30, as_value=True),
)
INFNET = Method(
    "infnet",
    negatives=PredictorPoint(),
    objective=MARGIN,
    predictor_loss=PredictorLoss(energy_weight=1.0, supervised_weight=1.0, augmented=True, hinged=True),
    stages=WARM_START_THEN_GAME,
    cost="squared",
    energy={"features": "copied", "units": 16},
)

DEEP_MEAN_FIELD = Method(
    "deep-mean-field",
    negatives=UnrolledIterates(MEAN_FIELD),
    objective=END_TO_END,
    stages=PRETRAINED_UNARIES,
    cost="log",
    energy={"terms": ("local", "conditional-pairwise"), "features": "copied"},
    inference=MEAN_FIELD,
)

SAMPLE_GRADIENT: SampleGradient = "straight-through"
"""How samples pass a gradient where a method differentiates through them; the ablation is in docs/bilevel.md."""

IMPLICIT_CD = Method(
    "implicit-cd",
    negatives=PredictorSamples(20, SAMPLE_GRADIENT),
    objective=CONTRASTIVE_DIVERGENCE,
    predictor_loss=PredictorLoss(energy_weight=3.0, warmup=500),
    coupling=Implicit(),
    stages=TOGETHER,
)

CRF = Method(
    "crf",
    negatives=InferencePoint(Exact()),
    objective=MARGIN,
    stages=ENERGY_ALONE,
    cost="hamming-sum",
    encoder={"layers": 0},
    energy={"terms": ("local", "pairwise"), "rank": None},
    inference=Exact(),
)


def crf(name: str, solver: SolverName) -> Method:
    """The pairwise CRF trained and read out by another solver."""
    return replace(CRF, name=name, negatives=InferencePoint(Exact(solver)), inference=Exact(solver))


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
        replace(
            SEAL_NCE,
            name="seal-static-nce",
            stages=(*NOISE_THEN_ENERGY, THEN_PREDICTOR),
            predictor_loss=PredictorLoss(energy_weight=0.1),
        ),
        SPEN,
        replace(  # as the SEAL paper has it
            SPEN, name="spen-from-scratch", stages=NOISE_THEN_ENERGY, cost="soft-f1", energy={"features": "separate"}
        ),
        replace(SPEN, name="spen-entropy", inference=replace(SPEN_INFERENCE, temperature=1.0)),  # at test time only (A.4)
        replace(
            SPEN,
            name="spen-e2e",
            negatives=UnrolledIterates(Unrolled(MirrorDescent(0.5, 0.0), temperature=1.0)),
            objective=END_TO_END,
            cost="log",
            inference=Inference(MirrorDescent(0.5, 0.0), starts=("predictor",), steps=10, temperature=1.0),
        ),
        DVN,
        replace(
            SEAL_NCE,
            name="nce",
            stages=NOISE_THEN_ENERGY,
            inference=Inference(MirrorDescent(0.5, 0.0), starts=("predictor",), steps=30, temperature=1.0),
        ),
        replace(
            SPEN,
            name="seal-static-margin",
            stages=(*THREE_STAGES, THEN_PREDICTOR),
            inference=None,
            predictor_loss=PredictorLoss(energy_weight=0.1),
        ),
        replace(
            DVN,
            name="seal-static-regression",
            stages=(*ENERGY_ALONE, THEN_PREDICTOR),
            inference=None,
            predictor_loss=PredictorLoss(energy_weight=0.1),
        ),
        INFNET,
        replace(
            INFNET,
            name="infnet+",
            negatives=CostAugmentedNet("shared", supervised_weight=1.0, with_predictor=True),
            objective=MARGIN_PERCEPTRON,
            predictor_loss=PredictorLoss(energy_weight=10.0),
        ),
        DEEP_MEAN_FIELD,
        replace(DEEP_MEAN_FIELD, name="deep-mean-field-scratch", stages=ENERGY_ALONE),
        IMPLICIT_CD,
        replace(IMPLICIT_CD, name="implicit-ssvm", negatives=PredictorPoint(), objective=MARGIN),
        replace(IMPLICIT_CD, name="implicit-dvn", negatives=PredictorPoint(), objective=REGRESSION),
        CRF,
        crf("crf-lp", "linear-program"),
        crf("crf-lbp", "belief-propagation"),
        crf("crf-mean-field", "mean-field"),
        replace(CROSS_ENTROPY, name="low-rank", encoder={"layers": 1, "hidden": 64, "nonlinearity": "identity"}),
        replace(CROSS_ENTROPY, name="mlp", encoder={"layers": 2, "hidden": 150, "nonlinearity": "relu"}),
        BINARY_RELEVANCE,
        replace(BINARY_RELEVANCE, name="binary-relevance-tfidf", scaling="tfidf"),
        EXTRA_TREES,
    )
}


def get_method(method: str | Method, table: dict[str, Method] = METHODS) -> Method:
    """The row called ``method`` of the table; a :class:`Method` passes through. ConfigError names the nearest row."""
    if isinstance(method, Method):
        return method
    one_of("method", table)("method", method)
    return table[method]
