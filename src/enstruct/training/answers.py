"""What a trained pair of networks answers: relaxed outputs of the predictor, or of inference on the energy."""

from __future__ import annotations

from typing import Any, NamedTuple, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from enstruct.energies.base import State
from enstruct.energies.build import shares_features
from enstruct.energies.tilted import TiltedEnergy
from enstruct.inference import Solution, Solver
from enstruct.spaces.base import RelaxedSpace
from enstruct.training.batches import to_features

CHUNK = 1024


@torch.no_grad()
def probabilities(
    predictor: nn.Module,
    X: Any,
    device: torch.device | str = "cpu",
    chunk: int = CHUNK,
    logits: bool = False,
    dtype: torch.dtype = torch.float32,
) -> NDArray[Any]:
    """(rows, labels) marginals, or logits, of a predictor in evaluation mode."""
    predictor.eval()
    parts = []
    for start in range(0, X.shape[0], chunk):
        out = predictor(to_features(X[start : start + chunk], device, dtype))
        parts.append((out if logits else torch.sigmoid(out)).cpu().numpy())
    return np.concatenate(parts)


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
) -> Problem:
    """The rows of X as one batch, with the networks in evaluation mode.

    ``tilted``: the energy is relative to the predictor (see :class:`~enstruct.energies.tilted.TiltedEnergy`).
    """
    predictor.eval()
    energy.eval()
    x = to_features(X, device, dtype)
    if shares_features(energy, predictor):
        features = cast(Any, predictor).encoder(x)
        state, logits = energy.prepare_features(features), cast(Any, predictor).head(features)
    else:
        state, logits = energy.prepare(x), predictor(x)
    if tilted:
        energy = TiltedEnergy(energy)
        state = energy.prepare_with(state, logits)
    return Problem(energy, state, space, space.relax(logits))


def inferred(
    predictor: nn.Module, energy: Any, space: RelaxedSpace, how: Solver, X: Any, *arguments: Any, **keywords: Any
) -> NDArray[Any]:
    """(rows, labels) relaxed minimisers of E(x, .), chunk after chunk; further arguments are :func:`problem`'s."""
    parts = []
    for start in range(0, X.shape[0], CHUNK):
        given = problem(predictor, energy, space, X[start : start + CHUNK], *arguments, **keywords)
        parts.append(given.solve(how).y.cpu().numpy())
    return np.concatenate(parts)
