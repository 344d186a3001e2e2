"""Energies of which each has not seen the label sets that it is asked about."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from enstruct.energies.residual import ResidualEnergy
from enstruct.joint import Joint
from enstruct.joint.holes import given_others
from enstruct.training.residual import refit
from enstruct.training.residual_candidates import Candidate, Examples
from enstruct.training.residual_choice import fit_residual
from enstruct_bench.joint.table import Array

Folds = Sequence[NDArray[np.intp]]


def cross_fitted_energies(logits: Array, Y: Array, folds: Folds, candidate: Candidate, seed: int) -> list[ResidualEnergy]:
    """One a fold, trained on the others' cross-fitted logits (rows, labels) and label sets, NaN where unobserved.

    How many epochs they take, a number that all share, is found once: on the second fold, held out from the first one's energy.
    """
    examples = Examples(torch.as_tensor(logits, dtype=torch.float32), torch.as_tensor(Y, dtype=torch.float32), torch.ones(len(Y)))
    everything = np.arange(len(Y))
    rest = np.setdiff1d(everything, folds[0])
    first = fit_residual(logits[rest], Y[rest], None, np.flatnonzero(np.isin(rest, folds[1])), seed, (candidate,))
    others = [refit(candidate, examples.take(np.setdiff1d(everything, fold)), first.epochs, seed) for fold in folds[1:]]
    return [first.energy, *others]


def joint_of(energy: ResidualEnergy, logits: Array, seed: int) -> Joint:
    with torch.no_grad():
        z = torch.as_tensor(logits, dtype=torch.float32)
        return Joint(energy, energy.prepare(z), torch.sigmoid(z), seed)


def quality_of_cells(
    logits: Array, Y: Array, folds: Folds, energies: Sequence[ResidualEnergy], seed: int = 0
) -> NDArray[np.float64]:
    """(rows, labels) p(y_i | x, the others) of the labels as given, Y (rows, labels) of 0 and 1; NaN where unobserved."""
    out = np.full(Y.shape, np.nan)
    for fold, energy in zip(folds, energies, strict=True):
        z, y = (torch.as_tensor(side[fold], dtype=torch.float32) for side in (logits, Y))
        out[fold] = given_others(energy, z, y, seed).numpy()
    return out
