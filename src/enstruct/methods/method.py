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
| ``watch_inference`` | whether inference's answers are watched, not the objective, in stages that train the energy alone |
| ``solver`` | what fits the predictor instead of the loop (linear models and trees, :mod:`enstruct.baselines`) |
| ``energy_rate``, ``energy_clip`` | the energy's learning rate over the predictor's; the bound of its gradient's norm |
| ``validation_epochs`` | passes of the predictor over the validation rows once the rules are fitted, the energy held fixed |
| ``scaling`` | what ``standardize="auto"`` stands for where the method needs features of its own |
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal

from enstruct.errors import ConfigError, shown, unknown_name
from enstruct.hypergradients import Alternating, Coupling
from enstruct.inference import Solver, Unrolled
from enstruct.inference.rules import HALF_DAMPED
from enstruct.methods.columns import (
    COLUMNS,
    OF_CANDIDATES,
    OF_COUPLING,
    OF_ENERGY,
    OF_LOSS,
    OF_PLAY,
    READ_BY,
    SAMPLE_GRADIENT,
    make_coupling,
    make_negatives,
)
from enstruct.methods.stages import PREDICTOR_ALONE, Stage
from enstruct.negatives import (
    ConditionalSamples,
    LabelFlips,
    Negatives,
    Partition,
    PerturbedSamples,
    PredictorSamples,
    TokenChanges,
    UnrolledIterates,
    ValueMixtures,
)
from enstruct.objectives import (
    CONDITIONAL_NCE,
    END_TO_END,
    LIKELIHOOD,
    MARGIN_PERCEPTRON,
    PSEUDO_LIKELIHOOD,
    REGRESSION,
    Density,
    Objective,
)

COUNTED = (PredictorSamples, PerturbedSamples, ConditionalSamples, LabelFlips, TokenChanges, ValueMixtures, Partition)
"""Sources whose size is the column n_samples."""
DENSITY_BY = {PSEUDO_LIKELIHOOD: (LabelFlips, TokenChanges), CONDITIONAL_NCE: (ConditionalSamples,)}
BOUNDED_COSTS = ("soft-f1", "hamming-mean", "soft-iou")
Supervised = Literal["cross-entropy", "ranking"]
EnergyAs = Literal["value", "marginals"]


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
    constant, its expectation taken at the mean.

    ``energy_as="marginals"`` teaches by the other divergence: the term is the cross-entropy of F(x) to the marginals of
    exp(-E)/Z, KL(exp(-E)/Z || F(x)) up to a constant, whose minimum over factorised F are those marginals themselves, where the
    energy at F(x) ("value") has its minimum at one output. Marginals are a chain's (:mod:`enstruct.inference.chain_solver`),
    exact unless the energy has terms beside it.
    ``expectation_weight`` weighs what a person expects of words
    (:mod:`enstruct.weak_supervision.expectations`), ``rule_weight`` -log P_F(rules), the probability that the answer keeps the
    rules (:mod:`enstruct.training.rule_terms`), which teaches the predictor to keep them.
    """

    energy_weight: float = 0.0
    supervised_weight: float = 1.0
    supervised: Supervised = "cross-entropy"
    energy_as: EnergyAs = "value"
    warmup: int = 0
    hinged: bool = False
    augmented: bool = False
    entropy_weight: float = 0.0
    anchor_weight: float = 0.0
    expectation_weight: float = 0.0
    rule_weight: float = 0.0

    def weight_at(self, update: int) -> float:
        """The energy's weight at the predictor's update with this number (from 0)."""
        rises = self.warmup and self.supervised_weight  # without a supervised loss there is nothing to learn first
        return self.energy_weight * (min(1.0, update / self.warmup) if rises else 1.0)

    def __post_init__(self) -> None:
        if self.supervised not in ("cross-entropy", "ranking"):
            raise unknown_name("supervised loss", self.supervised, ("cross-entropy", "ranking"))
        if self.energy_as not in ("value", "marginals"):
            raise unknown_name("way to learn from an energy", self.energy_as, ("value", "marginals"))
        if self.energy_as == "marginals" and (self.augmented or self.hinged or self.entropy_weight):
            raise ConfigError("A predictor that learns an energy's marginals has no margin and no entropy term beside them.")
        if not all(number >= 0 for number in (self.anchor_weight, self.expectation_weight, self.rule_weight, self.warmup)):
            raise ConfigError("anchor_weight, expectation_weight, rule_weight and warmup must not be negative.")
        if not (self.energy_weight >= 0 and self.supervised_weight >= 0 and self.energy_weight + self.supervised_weight > 0):
            raise ConfigError("energy_weight and supervised_weight must be non-negative and not both zero.")
        if self.entropy_weight and not self.energy_weight:
            raise ConfigError("entropy_weight belongs to the game with an energy: with energy_weight=0 leave it out.")


@dataclass(frozen=True, repr=False)
class Method:
    """One row; the columns are those of this module's table. ``validation_epochs``: the implicit-training paper's Remark 3."""

    name: str
    negatives: Negatives | None = None
    objective: Objective | None = None
    predictor_loss: PredictorLoss = PredictorLoss()
    coupling: Coupling = field(default_factory=Alternating)
    stages: tuple[Stage, ...] = PREDICTOR_ALONE
    energy_rate: float = 1.0
    energy_clip: float | None = None
    validation_epochs: int = 0
    cost: str = "soft-f1"
    encoder: dict[str, Any] = field(default_factory=dict)
    energy: dict[str, Any] = field(default_factory=dict)
    inference: Solver | None = None
    watch_inference: bool = False
    solver: Callable[..., Any] | None = None
    scaling: str = "auto"

    def __post_init__(self) -> None:
        if self.objective is not None and not isinstance(self.objective, Objective):
            raise ConfigError(f"objective must be one of enstruct.objectives, or None, not {shown(self.objective)}.")
        if self.inference is not None and not hasattr(self.inference, "needs_predictor"):
            raise ConfigError(f"inference must be a solver of enstruct.inference, or None, not {shown(self.inference)}.")
        if not (isinstance(self.stages, tuple) and self.stages and all(isinstance(one, Stage) for one in self.stages)):
            raise ConfigError(f"stages must be a tuple of Stage, not {shown(self.stages)}.")
        if self.predictor_loss.rule_weight and (self.solver is not None or not any(stage.predictor for stage in self.stages)):
            raise ConfigError(
                f"Method {self.name!r} trains no predictor by a loss that rule_weight could be a part of: leave it out."
            )
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
        for objective, sources in DENSITY_BY.items():
            if self.objective is objective and not isinstance(self.negatives, sources):
                raise ConfigError(
                    f"The {objective.name!r} objective estimates a density by candidates of one kind: it needs "
                    f"{' or '.join(f'{source.__name__}()' for source in sources)}, not {self.negatives}."
                )

    def __repr__(self) -> str:
        """Its name, and the fields that differ from a plain method's; functions by their names."""
        plain = Method("plain")
        told = {entry.name: getattr(self, entry.name) for entry in fields(self)[1:]}
        told = {name: value for name, value in told.items() if value != getattr(plain, name)}
        shown = {name: getattr(value, "name", getattr(value, "__name__", None)) or repr(value) for name, value in told.items()}
        return f"Method({', '.join([repr(self.name), *(f'{name}={value}' for name, value in shown.items())])})"

    @property
    def has_energy(self) -> bool:
        return any(stage.energy for stage in self.stages)

    @property
    def learns_throughout(self) -> bool:
        """Whether every stage trains the predictor: how long one has to be is known beforehand then. An energy that learns alone
        ends when its objective on validation rows rises no more, and one that learns from its own answers may need long."""
        return self.solver is None and all(stage.predictor for stage in self.stages)

    @property
    def takes_several(self) -> bool:
        """Whether a truth may be open between several tags: under the likelihood of a chain, or where no energy sees it."""
        return self.objective is LIKELIHOOD or not self.has_energy

    @property
    def density(self) -> Density:
        """What the energy estimates. Ranking's is relative to whatever the candidates are drawn from: none to speak of, unless
        that is the predictor's own distribution."""
        density = self.objective.density if self.objective is not None and self.has_energy else Density.NONE
        return Density.NONE if density is Density.RELATIVE and not getattr(self.negatives, "exact", False) else density

    @property
    def is_density(self) -> bool:
        """Whether exp(-E) estimates a distribution, relative to the predictor's or not."""
        return self.density is not Density.NONE

    @property
    def relative(self) -> bool:
        """Whether exp(-E) is relative to the predictor's distribution, which inference that refines it must add."""
        return self.density is Density.RELATIVE

    def refinement(self, steps: int, start: str = "predictor") -> Unrolled:
        """Steps on the energy where the predictor answers; damped mean-field updates where the energy gives a density."""
        temperature = 0.0 if self.density is Density.NONE else 1.0
        return Unrolled(HALF_DAMPED, steps, start, temperature, as_value=self.objective is REGRESSION)

    # -- single columns ---------------------------------------------------------------------------

    def with_(self, **columns: Any) -> Method:
        """This row with other columns: ``METHODS["seal-nce"].with_(energy_weight=1.0, n_samples=50)``.

        Beside the row's own fields these may be fields of its predictor's loss (energy_weight, supervised_weight, supervised,
        energy_as, warmup, entropy_weight, anchor_weight, rule_weight) and of its coupling (energy_steps, predictor_steps,
        rounds_per_batch, update_first), the number of candidates (n_samples), how discrete ones pass a gradient
        (sample_gradient), and what its energy measures by (energy_units, energy_nonlinearity).
        ``negatives`` and ``coupling`` may be names: "samples", "conditional", "flips", "token-changes", "perturbed", "point",
        "rounded", "cost-augmented", "inference", "value-tuples", "unrolled"; "alternating", "unrolled", "implicit". A coupling
        that goes through the predictor gives samples the gradient ``SAMPLE_GRADIENT`` where none is named, since constant ones
        would leave it nothing to do.
        What is about an energy is left out where the row has none, and what is about measurements where no term has any.
        ConfigError for columns that do not go together.
        """
        own = {entry.name for entry in fields(self)}
        for name, value in columns.items():
            if name in COLUMNS:
                COLUMNS[name](name, value)
            elif name not in own:
                raise unknown_name("column of a method", name, sorted({*COLUMNS, *own}))
        if columns.get("inference") is not None and self.inference is None:
            raise ConfigError(
                f"Method {self.name!r} answers by its predictor: inference= is for those that answer by the energy."
            )
        loss = {name: columns.pop(name) for name in OF_LOSS if name in columns}
        if not self.teaches:
            loss = {name: value for name, value in loss.items() if name not in OF_PLAY}  # nothing to weigh
        steps = {name: columns.pop(name) for name in OF_COUPLING if name in columns}
        changes = {name: columns.pop(name) for name in OF_CANDIDATES if name in columns}
        energy = {name: columns.pop(name) for name in OF_ENERGY if name in columns}
        if not self.has_energy:
            changes = {}
        energy = {name.removeprefix("energy_"): energy[name] for name in energy.keys() - self._unread}
        coupling = make_coupling(changes.get("coupling", self.coupling), self.coupling)
        changed = {
            "negatives": self._candidates(changes, coupling),
            "predictor_loss": replace(columns.pop("predictor_loss", self.predictor_loss), **loss),
            "coupling": replace(coupling, **steps),
            "energy": {**columns.pop("energy", self.energy), **energy},
        }
        return replace(self, **changed, **columns)

    def _candidates(self, changes: Mapping[str, Any], coupling: Coupling) -> Negatives | None:
        """Their source under ``changes`` of ``OF_CANDIDATES``."""
        source = make_negatives(changes["negatives"]) if "negatives" in changes else self.negatives
        if "n_samples" in changes:
            if not isinstance(source, COUNTED):
                raise ConfigError(f"n_samples does not apply to {type(source).__name__}: it gives one candidate a row, or none.")
            source = replace(source, n=changes["n_samples"])
        gradient = changes.get("sample_gradient")
        if gradient is not None and not coupling.through_predictor:
            raise ConfigError("sample_gradient serves couplings that go through the predictor: 'unrolled' or 'implicit'.")
        if isinstance(source, PredictorSamples) and coupling.through_predictor:
            return replace(source, gradient=gradient or source.gradient or SAMPLE_GRADIENT)
        if gradient is not None:
            raise ConfigError(f"sample_gradient does not apply to {type(source).__name__}: it draws no discrete samples.")
        return source

    @property
    def columns(self) -> dict[str, Any]:
        """The single columns as they are, in the order of :data:`~enstruct.methods.columns.COLUMNS`."""
        own = {"n_samples": getattr(self.negatives, "n", None), "sample_gradient": getattr(self.negatives, "gradient", None)}
        own |= {name: self.energy.get(name.removeprefix("energy_")) for name in OF_ENERGY}
        places = (self.predictor_loss, self.coupling, self)
        return {
            name: own[name] if name in own else next(getattr(place, name) for place in places if hasattr(place, name))
            for name in COLUMNS
        }

    @property
    def teaches(self) -> bool:
        """Whether a predictor learns with an energy in its loss."""
        return any(stage.predictor and stage.energy_in_loss for stage in self.stages)

    @property
    def _unread(self) -> set[str]:
        """Of ``OF_ENERGY``, what no term of its energy reads; by default that is ``local`` + ``global``."""
        terms = self.energy.get("terms", ("local", "global")) if self.has_energy else ()
        return {name for name, readers in READ_BY.items() if set(terms).isdisjoint(readers)}

    def idle_columns(self) -> set[str]:
        """Those that do nothing here, as comparisons set them for all of their methods at once."""
        idle = self._unread if self.teaches else {*self._unread, *OF_PLAY}
        if not self.has_energy:
            idle |= {*OF_CANDIDATES, "cost", "energy_steps", "update_first", "energy_rate", "energy_clip"}
        if self.solver is not None:
            idle |= {*OF_LOSS, *OF_COUPLING} - {"rule_weight"}  # which is refused
        return idle
