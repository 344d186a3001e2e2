"""``Table``: training rows of label sets, with holes where a label was not observed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from enstruct.data.rows import Rows, as_indicator
from enstruct.errors import DataError
from enstruct.estimators.label_rows import same_rows


@dataclass(frozen=True)
class Table:
    """Training rows: X as given, Y (rows, labels) of 0, 1 and NaN where unobserved, weights (rows,) or None."""

    X: Any
    Y: NDArray[np.float32]
    weight: NDArray[np.float64] | None = None

    def __len__(self) -> int:
        return len(self.Y)

    @property
    def complete(self) -> bool:
        return not np.isnan(self.Y).any()

    def take(self, rows: NDArray[np.intp]) -> Table:
        return Table(self.X[rows], self.Y[rows], None if self.weight is None else self.weight[rows])

    def merged(self) -> tuple[Table, NDArray[np.intp]]:
        """Without rows of weight 0, equal rows as one, their weights added; and where each row of this one went (-1: nowhere).

        No copy of a row is so in another fold than the row. DataError if nothing is left.
        """
        coded = sparse.csr_matrix(np.where(np.isnan(self.Y), 2, self.Y).astype(np.uint8))
        first, group = same_rows(Rows(self.X, coded))
        total = np.bincount(group, np.ones(len(self)) if self.weight is None else self.weight)
        kept = np.flatnonzero(total > 0)
        if not len(kept):
            raise DataError("Every sample weight is zero.")
        place = np.full(len(total), -1)
        place[kept] = np.arange(len(kept))
        weight = total[kept] / total[kept].mean()
        table = self.take(first[kept])
        return Table(table.X, table.Y, None if np.allclose(weight, 1) else weight), place[group]

    def few(self, rows: NDArray[np.intp], cells: int) -> NDArray[np.intp]:
        """As many of these rows, evenly spread, as have so many cells of Y."""
        most = max(1, cells // self.Y.shape[1])
        return rows if len(rows) <= most else rows[np.linspace(0, len(rows) - 1, most).astype(int)]

    def rows(self) -> Rows:
        return Rows(self.X, as_indicator(np.nan_to_num(self.Y)), self.weight)
