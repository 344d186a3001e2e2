"""What a trained pair of networks answers: relaxed outputs of the predictor, or of inference on the energy; energies."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from enstruct.data.rows import Rows
from enstruct.energies.base import State
from enstruct.energies.build import shares_features
from enstruct.energies.tilted import TiltedEnergy
from enstruct.errors import ConfigError, unknown_name
from enstruct.inference import Inference, Solution, Solver, Unrolled
from enstruct.methods import Method
from enstruct.spaces.base import RelaxedSpace
from enstruct.training.batches import assemble, in_order, to_batch, to_inputs
from enstruct.validation import check_whole


@torch.no_grad()
def probabilities(
    predictor: nn.Module,
    X: Any,
    device: torch.device | str = "cpu",
    relax: Callable[[torch.Tensor], torch.Tensor] | None = torch.sigmoid,
    dtype: torch.dtype = torch.float32,
) -> NDArray[Any]:
    """(rows, labels), of sentences (tokens, tags): marginals, or with ``relax=None`` logits, of a predictor."""
    predictor.eval()
    parts = []
    for index in in_order(X):
        out = predictor(to_inputs(X[index], device, dtype).x)
        parts.append((out if relax is None else relax(out)).cpu().numpy())
    return assemble(X, parts)


class Problem(NamedTuple):
    """What inference minimises for some rows: ``minimise(energy, state, space)``; ``predicted`` is the predictor's output."""

    energy: Any
    state: State
    space: RelaxedSpace
    predicted: torch.Tensor

    def solve(self, how: Solver) -> Solution:
        """With the start "predictor" filled in."""
        return how.resolve(self.predicted).solve(self.energy, self.state, self.space)


@torch.no_grad()
def problem(
    predictor: nn.Module,
    energy: Any,
    space: RelaxedSpace,
    X: Any,
    device: torch.device | str = "cpu",
    dtype: torch.dtype = torch.float32,
    tilted: bool = False,
    predict: bool = True,
) -> Problem:
    """The rows of X as one batch, with the networks in evaluation mode.

    ``tilted``: the energy is relative to the predictor (see :class:`~enstruct.energies.tilted.TiltedEnergy`).
    ``predict=False``: nobody will ask for the predictor's output, and ``predicted`` is empty.
    """
    predictor.eval()
    energy.eval()
    x, mask = to_inputs(X, device, dtype)
    if not predict and not tilted:
        return Problem(energy, energy.prepare(x, mask), space, torch.empty(0))
    if shares_features(energy, predictor) and getattr(predictor, "by_features_alone", True):
        features = cast(Any, predictor).encoder(x)
        state, logits = energy.prepare_features(features, mask), cast(Any, predictor).head(features)
    else:
        state, logits = energy.prepare(x, mask), predictor(x)
    if tilted:
        energy = TiltedEnergy(energy)
        state = energy.prepare_with(state, logits)
    return Problem(energy, state, space, space.relax(logits))


def predict_by_inference(
    predictor: nn.Module,
    energy: Any,
    space: RelaxedSpace,
    how: Solver,
    X: Any,
    device: torch.device | str = "cpu",
    dtype: torch.dtype = torch.float32,
    tilted: bool = False,
) -> NDArray[Any]:
    """The shape of :func:`probabilities`: relaxed minimisers of E(x, .); the last arguments are :func:`problem`'s."""
    parts = []
    for index in in_order(X):
        batch = problem(predictor, energy, space, X[index], device, dtype, tilted, how.needs_predictor)
        parts.append(batch.solve(how).y.cpu().numpy())
    return assemble(X, parts)


@dataclass(frozen=True)
class Networks:
    """A predictor and its energy (None where the method has none), as the method answers with them.

    X is what :func:`~enstruct.training.batches.to_inputs` takes: rows of features, sentences, images.
    """

    predictor: nn.Module
    energy: nn.Module | None
    method: Method
    space: RelaxedSpace
    device: torch.device | str = "cpu"

    @torch.no_grad()
    def of_other_labels(self, X: Any, vectors: Tensor) -> NDArray[np.float64]:
        """(rows, others) probabilities by a predictor that reads its labels, of others with these vectors (others, width)."""
        predictor = cast(Any, self.predictor.eval())
        parts = []
        for index in in_order(X):
            x, _ = to_inputs(X[index], self.device, torch.float32)
            parts.append(torch.sigmoid(predictor.of_others(x, vectors).double()).cpu().numpy())
        return assemble(X, parts)

    def answer(
        self,
        X: Any,
        refine: int | None = None,
        relaxed: bool = True,
        solver: Solver | None = None,
        dtype: torch.dtype = torch.float32,
    ) -> NDArray[Any]:
        """(rows, labels), (tokens, tags) or (images, height, width, classes): relaxed outputs, else their logits.

        By the method's own inference, or the predictor where it has none; ``refine``: by so many steps on the energy from the
        predictor's answer; ``solver``: by this one. ConfigError where there is no energy for it.
        """
        how = solver or (self.method.inference if refine is None else self.refinement(refine))
        if how is None:
            predictor = self._in(dtype, self.predictor)[0]
            return probabilities(predictor, X, self.device, self.space.relax if relaxed else None, dtype)
        tilted = refine is not None and self.method.relative
        predictor, energy = self._in(dtype, self.predictor, self.needed_energy())
        y = predict_by_inference(predictor, energy, self.space, how, X, self.device, dtype, tilted)
        return y if relaxed else np.asarray(self.space.unrelax(torch.from_numpy(y)).numpy())

    def _in(self, dtype: torch.dtype, *networks: nn.Module) -> tuple[nn.Module, ...]:
        """Of another precision than training's copies, made together, since the energy may read the predictor's features."""
        learns = any(True for network in networks for _ in network.parameters())  # trees have one precision
        if dtype is torch.float32 or not learns:
            return networks
        return tuple(network.to(dtype) for network in copy.deepcopy(networks))

    def needed_energy(self) -> nn.Module:
        """The energy; ConfigError where there is none."""
        if self.energy is None:
            raise ConfigError(f"Method {self.method.name!r} has no energy: choose one that trains one, such as 'seal-margin'.")
        return self.energy

    @torch.no_grad()
    def energies(self, rows: Rows) -> NDArray[np.float64]:
        """(rows,) E(x, y) of their own outputs. ConfigError where there is no energy."""
        energy = cast(Any, self.needed_energy().eval())
        values = np.empty(len(rows))
        for index in in_order(rows.X):
            batch = to_batch(rows.take(index), self.device)
            values[index] = energy(energy.prepare(batch.x, batch.mask), batch.y.unsqueeze(1)).squeeze(1).cpu().numpy()
        return values

    def refinement(self, steps: int) -> Unrolled:
        """ConfigError where the predictor gives no answer that an energy could refine."""
        if self.energy is None:
            raise ConfigError(
                f"Method {self.method.name!r} has no energy to refine with: choose one that trains one, such as 'seal-margin'."
            )
        if not any(stage.predictor for stage in self.method.stages):
            raise ConfigError(f"Method {self.method.name!r} trains no predictor whose answer could be refined.")
        check_whole(1, refine=steps)
        return self.method.refinement(steps)

    def inference_settings(self) -> Solver:
        """As the estimators have it, and so the two below."""
        if self.method.inference is not None:
            return self.method.inference
        steps = self.refinement(50)
        return Inference(steps.rule, ("predictor",), steps.steps, temperature=steps.temperature, as_value=steps.as_value)

    def problem(self, X: Any, bare: bool = False) -> Problem:
        tilted = not bare and self.method.inference is None and self.method.relative
        return problem(self.predictor, self.needed_energy(), self.space, X, self.device, tilted=tilted)

    def infer(self, X: Any, settings: Solver | None, changes: dict[str, Any]) -> Solution:
        solver = cast(Any, self.inference_settings() if settings is None else settings)
        known = {entry.name for entry in fields(solver)}
        for name in changes:
            if name not in known:
                raise unknown_name(f"setting of {type(solver).__name__}", name, known)
        return self.problem(X).solve(replace(solver, **changes))
