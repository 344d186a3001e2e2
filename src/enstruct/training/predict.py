"""What a trained pair of networks answers: relaxed outputs of the predictor, or of inference on the energy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, cast

import torch
from numpy.typing import NDArray
from torch import nn

from enstruct.energies.base import State
from enstruct.energies.build import shares_features
from enstruct.energies.tilted import TiltedEnergy
from enstruct.inference import Solution, Solver
from enstruct.spaces.base import RelaxedSpace
from enstruct.training.batches import assemble, in_order, to_inputs


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
    if shares_features(energy, predictor):
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
        given = problem(predictor, energy, space, X[index], device, dtype, tilted, how.needs_predictor)
        parts.append(given.solve(how).y.cpu().numpy())
    return assemble(X, parts)
