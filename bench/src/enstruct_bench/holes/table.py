"""The rows of one seed with holes in their labels: those that were there, and cells that are removed at random.

Rows are split 60/20/20 without regard to what is in them. Cells are removed from training and validation rows, never from test
rows; which cells go at a share go at every larger one too. All that any side is given is the table that is made here, so that
none can see what was removed.

With positives alone observed, as where people only ever say what is there, a share of the positive cells is removed and no
negative one is told. Every label is left with one observed value then, which nothing can be learnt from: all sides are given
unknown cells as absent, and test cells, which are complete, say what that costs them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from enstruct.data.dataset import Dataset
from enstruct.data.splits import Splits, imputed, places_60_20_20
from enstruct.errors import DataError
from enstruct_bench.joint.table import Array, Table, stacked, varying_of


def split_at_random(data: Dataset, seed: int) -> Splits:
    """60/20/20 of the rows of which something is known, missing features filled in. DataError for too few."""
    data = data.take(data.known_rows)
    parts = places_60_20_20(len(data), seed, data.name or "this set", "rows")
    return imputed(Splits(*(data.take(np.sort(part)) for part in parts)))


def table_with_holes(splits: Splits, seed: int, removed: float = 0.0, positives_only: bool = False) -> Table:
    """Training and validation rows as far as something is known of them, and test rows; NaN where a label is unknown.

    Labels that the training rows do not show both values of are left out. DataError where fewer than two are left.
    """
    train, validation, test = (part.told().astype(np.float32) for part in splits.parts().values())
    Y = without_cells(np.concatenate([train, validation]), removed, seed, positives_only)
    varying = varying_of(Y[: len(train)])
    if len(varying) < 2:
        name = splits.train.name or "This set"
        raise DataError(f"{name}: {len(varying)} labels show both values in the training rows; two are needed.")
    Y = Y[:, varying]
    known = np.flatnonzero(~np.isnan(Y).all(1))
    whole = Table(stacked(splits.train.X, splits.validation.X)[known], Y[known], known, splits.test.X, test[:, varying])
    return replace(whole, held=np.flatnonzero(known >= len(train)))


def without_cells(Y: Array, share: float, seed: int, positives_only: bool = False) -> NDArray[np.float32]:
    """A copy in which a share of the cells is NaN; with positives alone observed, in which a share of the ones is 0."""
    gone = np.random.default_rng([seed, 40]).random(Y.shape) < share
    return np.where(gone, 0 if positives_only else np.nan, Y).astype(np.float32)


def half_told(Y: Array, seed: int) -> NDArray[np.float32]:
    """Y where it is among the half of its row's observed cells that is told, drawn at random and rounded down, NaN elsewhere."""
    observed = ~np.isnan(Y)
    keys = np.where(observed, np.random.default_rng([seed, 41]).random(Y.shape), 2.0)  # unobserved cells come last
    place = keys.argsort(1).argsort(1)
    return np.where(place < observed.sum(1, keepdims=True) // 2, Y, np.nan).astype(np.float32)
