"""What rules say of each label, given all others of a label set: its log-odds, added to those of an energy.

    odds_i = sum over inequalities of weight ([broken without label i] - [broken with it])

One that binds settles the label, where what the others are leaves it no choice.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from enstruct.rules.system import RuleSystem

SETTLED = 50.0
"""Nats that stand for infinitely many: softplus(-50) is 0 in single precision."""


def rule_odds(system: RuleSystem, Y: NDArray[Any]) -> NDArray[np.float32]:
    """(rows, labels) of whole label sets Y (rows, labels), which keep what binds where odds are to be those of a distribution."""
    Y = np.asarray(Y, dtype=np.float32)
    reach = np.asarray(system.matrix @ Y.T, dtype=np.float32).T - system.least.astype(np.float32)  # (rows, inequalities)
    weight = np.where(system.binds, SETTLED, system.weight).astype(np.float32)
    out = np.zeros(Y.shape, dtype=np.float32)
    A = system.matrix.tocsc()
    for i in np.flatnonzero(np.diff(A.indptr)):
        at, sign = A.indices[A.indptr[i] : A.indptr[i + 1]], A.data[A.indptr[i] : A.indptr[i + 1]].astype(np.float32)
        without = reach[:, at] - sign * Y[:, i, None]
        broken = (without < 0).astype(np.float32) - (without + sign < 0)
        out[:, i] = broken @ weight[at]
    return out
