"""Labels that never vary in the training rows: left out of the model, predicted as they were."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from enstruct.errors import ConstantLabelWarning, DataError


@dataclass
class ConstantLabels:
    """``varying``: label numbers the model learns; ``values`` (labels,): 0/1 where constant, NaN where not."""

    varying: NDArray[np.int64]
    values: NDArray[np.float64]

    @classmethod
    def none(cls, n_labels: int) -> ConstantLabels:
        return cls(np.arange(n_labels), np.full(n_labels, np.nan))

    def check(self, n_labels: int) -> None:
        """ValueError unless these are numbers of so many labels, each of which varies or has a value."""
        check_increasing("varying", self.varying, n_labels)
        if self.values.shape != (n_labels,) or not np.isnan(self.values[self.varying]).all():
            raise ValueError(f"constants are not those of {n_labels} labels")
        if not np.isin(np.delete(self.values, self.varying), (0, 1)).all():
            raise ValueError("constants are neither 0 nor 1")

    @classmethod
    def find(cls, Y: sparse.csr_matrix) -> ConstantLabels:
        """DataError if every label is constant; one warning if some are."""
        counts = np.asarray(Y.sum(0, dtype=np.int64)).ravel()
        constant = (counts == 0) | (counts == Y.shape[0])
        if constant.all():
            raise DataError(
                f"Every label is constant in Y ({Y.shape[0]} distinct rows, n_samples={Y.shape[0]}): with only one class "
                "there is nothing to learn."
            )
        if constant.any():
            some = np.flatnonzero(constant)[:5].tolist()
            warnings.warn(
                f"{int(constant.sum())} of {len(counts)} labels never vary in the training rows (first: {some}); "
                "their constant is predicted.",
                ConstantLabelWarning,
                stacklevel=3,
            )
        values = np.where(constant, (counts > 0).astype(float), np.nan)
        return cls(np.flatnonzero(~constant), values)

    def warn_if_they_vary(self, Y: sparse.csr_matrix) -> None:
        """For rows that come later: labels that did not vary before are not learnt from them."""
        fixed = np.flatnonzero(~np.isnan(self.values))
        counts = np.asarray(Y[:, fixed].sum(0, dtype=np.int64)).ravel()
        other = fixed[counts != self.values[fixed] * Y.shape[0]]
        if len(other):
            warnings.warn(
                f"{len(other)} labels that never varied in the rows fitted do so now (first: {other[:5].tolist()}); they are not "
                "learnt: fit anew.",
                ConstantLabelWarning,
                stacklevel=3,
            )

    def expand_numbers(self, table: NDArray[Any], otherwise: Any = None) -> NDArray[np.float64]:
        """(..., varying) -> (..., labels), constants in place (or ``otherwise``)."""
        if len(self.varying) == len(self.values):
            return table.astype(np.float64)
        out = np.empty((*table.shape[:-1], len(self.values)))
        out[...] = self.values if otherwise is None else otherwise
        out[..., self.varying] = table
        return out

    def expand_indicator(self, Y: sparse.csr_matrix) -> sparse.csr_matrix:
        """(rows, varying) -> (rows, labels) with constant labels set."""
        if len(self.varying) == len(self.values):
            return Y
        placed = sparse.csr_matrix((Y.data, self.varying[Y.indices], Y.indptr), shape=(Y.shape[0], len(self.values)))
        always = np.flatnonzero(self.values == 1)
        if not len(always):
            return placed
        n, k = Y.shape[0], len(always)
        ones = sparse.csr_matrix((np.ones(n * k, np.uint8), np.tile(always, n), np.arange(0, n * k + 1, k)), shape=placed.shape)
        return (placed + ones).tocsr()


def check_increasing(name: str, places: NDArray[Any], n: int) -> None:
    """ValueError unless these are different numbers from 0 to below ``n``, in order."""
    if places.dtype.kind != "i" or places.ndim != 1 or not np.isin(places, np.arange(n)).all() or (np.diff(places) <= 0).any():
        raise ValueError(f"{name} are not numbers of {n}, in order")
