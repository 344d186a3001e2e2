"""All label sets of a group that its inequalities allow, label after label: sets that can no longer become legal are dropped."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST_STATES = 4096


def legal_states(A: NDArray[Any], least: NDArray[Any], most: int = MOST_STATES) -> NDArray[np.uint8] | None:
    """(states, labels) with A y >= least; None where they are, or on the way become, more than ``most``.

    A (inequalities, labels).
    """
    n_labels = A.shape[1]
    states, reached = np.zeros((1, 0), dtype=np.uint8), np.zeros((1, len(least)))
    ahead = np.maximum(A, 0).sum(1)  # what labels to come can add
    for i in range(n_labels):
        ahead = ahead - np.maximum(A[:, i], 0)
        both = np.concatenate([reached, reached + A[:, i]])
        possible = (both + ahead >= least).all(1)
        grown = np.concatenate([np.pad(states, ((0, 0), (0, 1))), np.pad(states, ((0, 0), (0, 1)), constant_values=1)])
        states, reached = grown[possible], both[possible]
        if len(states) > most:
            return None
    return states
