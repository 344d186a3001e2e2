"""What a trained pair of networks answers: relaxed outputs of the predictor, or of inference on the energy."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from enstruct.energies.tilted import TiltedEnergy
from enstruct.inference import Solver
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


@torch.no_grad()
def inferred(
    predictor: nn.Module,
    energy: Any,
    space: RelaxedSpace,
    how: Solver,
    X: Any,
    device: torch.device | str = "cpu",
    chunk: int = CHUNK,
    dtype: torch.dtype = torch.float32,
    tilted: bool = False,
) -> NDArray[Any]:
    """(rows, labels) relaxed minimisers of E(x, .), with the networks in evaluation mode.

    ``tilted``: the energy is relative to the predictor (see :class:`~enstruct.energies.tilted.TiltedEnergy`).
    """
    predictor.eval()
    energy.eval()
    parts = []
    for start in range(0, X.shape[0], chunk):
        x = to_features(X[start : start + chunk], device, dtype)
        state, sought = energy.prepare(x), energy
        settings = how
        if tilted or how.needs_predictor:
            logits = predictor(x)
            settings = how.resolve(space.relax(logits))
            if tilted:
                sought = TiltedEnergy(energy)
                state = sought.prepare_with(state, logits)
        parts.append(settings.solve(sought, state, space).y.cpu().numpy())
    return np.concatenate(parts)
