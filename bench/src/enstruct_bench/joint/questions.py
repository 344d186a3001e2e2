"""How many questions it takes until a label set is right, by what a side asks for or in random order.

All of a row is asked for, label by label, until marginals given the answers, cut at a half, are the true set. Of more than
``BLOCKS`` labels several are asked for at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from enstruct_bench.joint.sides import Model
from enstruct_bench.joint.table import Array
from enstruct_bench.joint.told import nothing_told, random_order

BLOCKS = 20
FEW_LABELS, ROWS, ROWS_OF_MANY = 20, 100, 25

Worth = Callable[[Any, Array, Array, Array], Array]
"""(X, rows, known, p) -> (rows, labels), the largest is asked for first."""


def asked_rows(n: int, n_labels: int, seed: int) -> NDArray[np.intp]:
    """Test rows that are asked about."""
    most = ROWS if n_labels <= FEW_LABELS else ROWS_OF_MANY
    return np.sort(np.random.default_rng([seed, 5]).choice(n, min(n, most), replace=False))


def questions_of(model: Model, X: Any, Y: Array) -> NDArray[np.intp]:
    """(rows,) asked for what the side holds to be worth asking: where it does not say, the label nearest to a half."""

    def worth(x: Any, rows: Array, known: Array, p: Array) -> Array:
        scores = model.worth_asking(x, known)
        return -np.abs(p - 0.5) if scores is None else scores

    return until_right(model, X, Y, worth)


def random_questions_of(model: Model, X: Any, Y: Array, seed: int) -> NDArray[np.intp]:
    order = random_order(Y.shape, seed)
    return until_right(model, X, Y, lambda x, rows, known, p: -order[rows])


def until_right(model: Model, X: Any, Y: Array, worth: Worth) -> NDArray[np.intp]:
    n, n_labels = Y.shape
    block = -(-n_labels // BLOCKS) if n_labels > BLOCKS else 1
    known = nothing_told(n, n_labels)
    waiting = np.arange(n)
    while len(waiting):
        p = model.marginals(X[waiting], known[waiting])
        told = known[waiting]
        answer = np.where(np.isnan(told), p >= 0.5, told)
        wrong = (answer != Y[waiting]).any(1)
        waiting, p = waiting[wrong], p[wrong]
        if not len(waiting):
            break
        scores = np.array(worth(X[waiting], waiting, known[waiting], p), dtype=np.float64)
        scores[~np.isnan(known[waiting])] = -np.inf
        first = np.argsort(-scores, axis=1, kind="stable")[:, :block]
        known[waiting[:, None], first] = Y[waiting[:, None], first]
    return np.asarray((~np.isnan(known)).sum(1))
