"""Energies of which each has not seen the label sets that it is asked about."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from enstruct.energies.residual import ResidualEnergy
from enstruct.joint import Joint
from enstruct.training.residual import refit
from enstruct.training.residual_candidates import Candidate, Examples
from enstruct_bench.joint.table import Array

Folds = Sequence[NDArray[np.intp]]


def cross_fitted_energies(examples: Examples, folds: Folds, candidate: Candidate, epochs: int, seed: int) -> list[ResidualEnergy]:
    """One a fold, trained for so many epochs on the others' cross-fitted logits and label sets, NaN where unobserved."""
    everything = np.arange(len(examples.y))
    return [refit(candidate, examples.take(np.setdiff1d(everything, fold)), epochs, seed) for fold in folds]


def joint_of(energy: ResidualEnergy, logits: Array, seed: int) -> Joint:
    with torch.no_grad():
        z = torch.as_tensor(logits, dtype=torch.float32)
        return Joint(energy, energy.prepare(z), torch.sigmoid(z), seed)
