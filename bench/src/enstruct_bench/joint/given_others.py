"""How likely each label is given the row's other labels, by sides that stand on no base, of rows that no fit of them has seen.

    p(y_i = 1 | x, y_-i)          by chains exactly, from the two joints; by others as what they answer with all but i told

The table is left out fold by fold, as many as the estimator has; within the others a quarter chooses the side's settings.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from enstruct.data.rows import as_indicator
from enstruct.data.splits import stratified_folds
from enstruct_bench.joint.chains import Chains
from enstruct_bench.joint.sides import Model
from enstruct_bench.joint.table import Array, Table

FOLDS = 5
HELD = 0.25


def given_others(model: Model, X: Any, Y: Array) -> NDArray[np.float64]:
    """(rows, labels) from label sets Y (rows, labels) without holes."""
    if isinstance(model, Chains):
        return model.given_others(X, Y)
    out = np.empty(Y.shape)
    for label in range(Y.shape[1]):
        known = np.array(Y, dtype=np.float32)
        known[:, label] = np.nan
        out[:, label] = model.marginals(X, known)[:, label]
    return out


def cross_fitted_given_others(fit: Callable[[Table, int], Any], X: Any, Y: NDArray[np.float32], seed: int) -> NDArray[np.float64]:
    """:func:`given_others` by ``fit``'s models, each asked of the fold that it was not fitted to."""
    out = np.empty(Y.shape)
    rng = np.random.default_rng([seed, 40])
    for fold in stratified_folds(as_indicator(Y), FOLDS, seed):
        others = rng.permutation(np.setdiff1d(np.arange(len(Y)), fold))
        held = np.arange(len(others) - round(HELD * len(others)), len(others))
        side = fit(Table(X[others], Y[others], held, X[fold], Y[fold]), seed)
        out[fold] = given_others(side.model, X[fold], Y[fold])
    return out
