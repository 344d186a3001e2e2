"""Which rows a joint's bases leave out, so that their answers there are those of models that have not seen the labels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from enstruct.data.rows import as_indicator
from enstruct.data.splits import stratified_folds
from enstruct.errors import ConfigError, DataError
from enstruct.estimators.training_table import Table

PARTS = 5
"""Of which one alone is left out where ``folds`` is 1; and those by which an energy is chosen on it."""
LEAST = 4
"""Rows that can be left out in turn."""


def left_out(table: Table, folds: int, seed: int) -> list[NDArray[np.intp]]:
    """Parts of the rows, stratified, each of which is left out of one fit: all rows in turn, or with ``folds`` 1 a fifth alone.

    Fewer parts where there are not two distinct rows for each. DataError for fewer than four, and for so few that a fifth of them
    could not be divided in turn.
    """
    if folds == 1 and len(table) < PARTS * LEAST:
        raise DataError(f"{len(table)} distinct rows are too few for folds=1, which needs {PARTS * LEAST}: take folds=2 or more.")
    parts = min(PARTS if folds == 1 else folds, len(table) // 2)
    if parts < 2:
        raise DataError(f"{len(table)} distinct rows are too few to leave some of them out: fit needs four.")
    every = [np.sort(part) for part in stratified_folds(as_indicator(np.nan_to_num(table.Y)), parts, seed)]
    return [max(every, key=len)] if folds == 1 else every


def check_each_left_out(each: bool) -> None:
    """ConfigError where most rows' labels have taught whatever answers for them."""
    if not each:
        raise ConfigError("folds=1 leaves a fifth of the rows out, and what is asked here is asked of every row: take 2 or more.")
