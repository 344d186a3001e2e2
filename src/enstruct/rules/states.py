"""All label sets of a group that its inequalities allow, label after label: sets that can no longer become legal are dropped."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

MOST_STATES = 4096


def legal_states(A: Any, least: NDArray[np.float64], most: int = MOST_STATES) -> NDArray[np.uint8] | None:
    """(states, labels) with A y >= least; None where they are, or on the way become, more than ``most``.

    A (inequalities, labels), dense or sparse. Of an inequality only what the labels between its first and its last add up to is
    kept, so that many of them, as of a hierarchy of thousands of labels, take no more memory than those that are under way.
    """
    by_label, by_row = sparse.csc_matrix(A), sparse.csr_matrix(A)
    n_labels = by_label.shape[1]
    ahead = np.asarray(by_row.maximum(0).sum(1)).ravel()  # what labels to come can add
    states = np.zeros((int((ahead >= least).all()), 0), dtype=np.uint8)
    lasts = np.array([labels.max(initial=-1) for labels in np.split(by_row.indices, by_row.indptr[1:-1])])
    under_way, reached = np.zeros(0, dtype=np.intp), np.zeros((len(states), 0))  # (states, inequalities under way)
    for i in range(n_labels):
        here = slice(by_label.indptr[i], by_label.indptr[i + 1])
        rows, values = by_label.indices[here], by_label.data[here]
        begun = np.setdiff1d(rows, under_way)
        under_way, reached = np.concatenate([under_way, begun]), np.pad(reached, ((0, 0), (0, len(begun))))
        order = np.argsort(under_way)
        at = order[np.searchsorted(under_way, rows, sorter=order)]
        ahead[rows] -= np.maximum(values, 0)
        with_it = reached.copy()
        with_it[:, at] += values
        both = np.concatenate([reached, with_it])
        possible = (both[:, at] + ahead[rows] >= least[rows]).all(1)
        grown = np.concatenate([np.pad(states, ((0, 0), (0, 1))), np.pad(states, ((0, 0), (0, 1)), constant_values=1)])
        left = lasts[under_way] > i
        states, reached, under_way = grown[possible], both[possible][:, left], under_way[left]
        if len(states) > most:
            return None
    return states
