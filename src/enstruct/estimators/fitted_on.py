"""What the energy of a joint was trained on, and how."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from enstruct.estimators.training_table import Table
from enstruct.training.residual_candidates import Candidate


class FittedOn(NamedTuple):
    """Distinct rows that bases left out, their logits (rows, labels that vary), the folds.

    ``group`` (rows of ``fit``,): the distinct row that each is, -1 for those of weight 0 and those that no base left out.
    ``each_left_out``: whether there are none of the latter.
    """

    logits: NDArray[np.float32]
    table: Table
    group: NDArray[np.intp]
    folds: Sequence[NDArray[np.intp]]
    candidate: Candidate
    epochs: int
    each_left_out: bool = True

    def of_all(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """(rows of ``fit``, ...) of values (distinct rows, ...): NaN for rows that are none of these."""
        out = values[self.group]
        out[self.group < 0] = np.nan
        return out

    def marginals(self, constants: NDArray[np.float64]) -> NDArray[np.float64]:
        """(rows of ``fit``, labels) p(y_i = 1 | x) by bases that have not seen the row; ``constants`` (labels,): the values of
        labels that never vary, NaN of others."""
        p = np.repeat(constants[None], len(self.group), axis=0)
        p[:, np.isnan(constants)] = self.of_all(expit(self.logits).astype(np.float64))
        return p
