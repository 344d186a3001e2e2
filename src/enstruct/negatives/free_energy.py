"""Every output at once, where sums over all of them are out of reach: inference's own estimate of -log sum_y exp(-E(x, y)).

    F = min_y E(x, y) - T H(y)          T the temperature of inference, 1 for the sum itself

With an energy of products this is mean field's bound from above; with beliefs of pairs (:mod:`enstruct.energies.beliefs`) it is
Bethe's estimate, exact where the pairs make a forest. In the place of a partition function it turns the likelihood of any energy
into an objective (:data:`~enstruct.objectives.LIKELIHOOD`): the loss E(x, y) - F of GSPEN, which has the entropy inside as well.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from enstruct.errors import ConfigError, shown
from enstruct.inference.minimise import Inference
from enstruct.inference.objective import InferenceObjective
from enstruct.inference.rules import HALF_DAMPED
from enstruct.negatives.base import Candidates, Negatives, Situation
from enstruct.spaces.base import RelaxedSpace


@dataclass(frozen=True)
class FreeEnergy(Negatives):
    """``inference`` needs a temperature above 0, since without an entropy the energy of one output would stand for all."""

    inference: Inference = field(default_factory=lambda: Inference(HALF_DAMPED, ("predictor",), steps=5, temperature=1.0))

    def __post_init__(self) -> None:
        if not isinstance(self.inference, Inference):
            raise ConfigError(f"FreeEnergy needs an Inference with a temperature, not {shown(self.inference)}.")
        if not self.inference.temperature > 0:
            raise ConfigError("FreeEnergy needs inference with an entropy: give it a temperature, as Inference(temperature=1.0).")
        if self.inference.as_value:
            raise ConfigError("FreeEnergy sums exp(-E), which a value sigma(-E) is not: leave as_value out.")

    def draw(self, at: Situation, space: RelaxedSpace) -> Candidates:
        inference = self.inference.resolve(space.relax(at.logits))
        y = inference.solve(at.energy, at.state.detached(), space).y.unsqueeze(1)
        objective = InferenceObjective(at.energy, at.state, space, temperature=inference.temperature)
        return Candidates(None, energies=objective.value(y))  # the way to y is left out: at the minimum it has no slope


@dataclass(frozen=True)
class Normalised(Negatives):
    """Of an energy whose exp(-E) sums to one as it is, such as a flow's: F = 0."""

    def draw(self, at: Situation, space: RelaxedSpace) -> Candidates:
        """ConfigError for an energy that does not: its loss would fall for ever."""
        terms = list(getattr(at.energy, "terms", []))
        if len(terms) != 1 or not getattr(terms[0], "normalised", False):
            raise ConfigError("Normalised takes an energy for one whose exp(-E) sums to one: its only term must be 'flow'.")
        return Candidates(None, energies=at.logits.new_zeros(len(at.truth), 1))
