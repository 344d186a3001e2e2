"""Label sets of validation rows under the settings that a decision rule tries, each row decoded once under each.

A rule is fitted on one half of the rows and judged on the other, both ways, and then fitted on all: the same rows come three
times, and what is decoded of a row depends on it and the setting alone.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

FEW = 1024
"""Rows that are all decoded as soon as some are wanted: the others will be."""
Setting = Hashable
Decode = Callable[[Sequence[Setting], NDArray[np.intp]], list[sparse.csr_matrix]]
"""(settings, numbers of rows in ascending order) -> (rows, labels) under each setting."""


class Remembered:
    """What ``decode`` gives of ``shape`` (rows, labels), asked of it as far as it is wanted."""

    def __init__(self, decode: Decode, shape: tuple[int, int]) -> None:
        self._decode, self._shape = decode, shape
        self._sets: dict[Setting, sparse.csr_matrix] = {}
        self._known: dict[Setting, NDArray[np.bool_]] = {}

    def under(self, settings: Sequence[Setting], rows: NDArray[np.intp]) -> list[sparse.csr_matrix]:
        """Label sets of these rows, in their order, under each of the settings."""
        for setting in settings:
            self._sets.setdefault(setting, sparse.csr_matrix(self._shape, dtype=np.uint8))
            self._known.setdefault(setting, np.zeros(self._shape[0], dtype=bool))
        lacking = [setting for setting in settings if not self._known[setting][rows].all()]
        if lacking:
            known = np.all([self._known[setting] for setting in lacking], axis=0)
            new = np.setdiff1d(rows if self._shape[0] > FEW else np.arange(self._shape[0]), np.flatnonzero(known))
            for setting, sets in zip(lacking, self._decode(lacking, new), strict=True):
                fresh = ~self._known[setting][new]
                self._sets[setting] = self._sets[setting] + _placed(sets[fresh], new[fresh], self._shape)
                self._known[setting][new] = True
        return [self._sets[setting][rows] for setting in settings]


def _placed(sets: sparse.csr_matrix, rows: NDArray[np.intp], shape: tuple[int, int]) -> sparse.csr_matrix:
    """These sets as those rows, ascending, of a table that is empty elsewhere."""
    sizes = np.zeros(shape[0] + 1, dtype=np.int64)
    sizes[rows + 1] = np.diff(sets.indptr)
    return sparse.csr_matrix((sets.data, sets.indices, sizes.cumsum()), shape=shape)
