"""The cheapest mask that keeps its rules, exactly, by an integer program: for images in which quick repairs found none.

Class v takes pixel i where x_vi = 1, no two the same pixel; boxes, sizes and what is told are bounds and sums. So many pieces of
v at most: as many pixels are roots, from which flow goes along neighbours of v and leaves a unit at each (Gavish & Graves 1978):

    sum_i r_vi <= pieces      r <= x      s_vi <= n r_vi      flow out of i <= n x_vi      s_vi + flow in - flow out = x_vi
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp

MOST_CELLS = 150
"""Pixels times classes with a rule, of larger images nothing is tried."""
SECONDS = 5.0
"""Of an image at most, and as many again for all sets of its preferences."""


@dataclass(frozen=True)
class ClassOf:
    """What binds a class: ``gain`` (height, width) in nats, ``may`` the pixels that it may have and ``told`` those that it has,
    ``least`` and ``most`` pixels, and so many ``pieces``, None for any number."""

    gain: NDArray[Any]
    may: NDArray[np.bool_]
    told: NDArray[np.bool_]
    least: int
    most: int
    pieces: int | None


def cheapest(classes: Sequence[ClassOf], seconds: float = SECONDS) -> tuple[list[NDArray[np.bool_]] | None, bool]:
    """(the pixels of each class in the mask of most gain, or None where none was found; whether the answer is certain)."""
    shape = classes[0].gain.shape
    n = classes[0].gain.size
    if n * len(classes) > MOST_CELLS or seconds <= 0:
        return None, False
    tails, heads = _edges(shape)
    parts = [_program(one, tails, heads) for one in classes]
    widths = [part[0].size for part in parts]
    side_by_side = sparse.hstack([sparse.eye(n, width, format="csr") for width in widths])
    constraints = [LinearConstraint(side_by_side, -np.inf, 1)]
    for k, (_, _, _, A, low, high) in enumerate(parts):
        blank = [sparse.csr_matrix((A.shape[0], width)) for width in widths]
        constraints.append(LinearConstraint(sparse.hstack([*blank[:k], A, *blank[k + 1 :]], format="csr"), low, high))
    result = milp(
        np.concatenate([part[0] for part in parts]),
        integrality=np.concatenate([part[1] for part in parts]),
        bounds=Bounds(*(np.concatenate([part[2][side] for part in parts]) for side in (0, 1))),
        constraints=constraints,
        options={"time_limit": seconds, "mip_rel_gap": 1e-3},
    )
    if result.x is None:
        return None, result.status == 2
    firsts = np.cumsum([0, *widths[:-1]])
    return [np.rint(result.x[first : first + n]).astype(bool).reshape(shape) for first in firsts], True


def _edges(shape: tuple[int, ...]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """(edges,) numbers of neighbouring pixels, both ways."""
    number = np.arange(shape[0] * shape[1]).reshape(shape)
    one = np.concatenate([number[:, :-1].ravel(), number[:-1].ravel()])
    other = np.concatenate([number[:, 1:].ravel(), number[1:].ravel()])
    return np.concatenate([one, other]), np.concatenate([other, one])


def _program(one: ClassOf, tails: NDArray[np.intp], heads: NDArray[np.intp]) -> tuple[Any, ...]:
    """(costs, which are whole, (low, high), A, least, most) of a class: over x, and roots, sources and flows where its pieces are
    counted."""
    n, edges = one.gain.size, len(tails)
    x = (one.told.ravel().astype(float), (one.may | one.told).ravel().astype(float))
    count = sparse.csr_matrix(np.ones((1, n)))
    if one.pieces is None:
        return -one.gain.ravel(), np.ones(n), x, count, np.array([one.least]), np.array([one.most])
    eye, none = sparse.identity(n, format="csr"), sparse.csr_matrix((n, edges))
    zero = sparse.csr_matrix((n, n))
    out = sparse.csr_matrix((np.ones(edges), (tails, np.arange(edges))), shape=(n, edges))
    into = sparse.csr_matrix((np.ones(edges), (heads, np.arange(edges))), shape=(n, edges))
    row = sparse.csr_matrix((1, n)), sparse.csr_matrix((1, edges))
    A = sparse.bmat(
        [
            [count, row[0], row[0], row[1]],
            [row[0], count, row[0], row[1]],
            [-eye, eye, zero, none],
            [zero, -n * eye, eye, none],
            [-n * eye, zero, zero, out],
            [-eye, zero, eye, into - out],
        ],
        format="csr",
    )
    low = np.concatenate([[one.least, 0], np.full(3 * n, -np.inf), np.zeros(n)])
    high = np.concatenate([[one.most, one.pieces], np.zeros(4 * n)])
    costs = np.concatenate([-one.gain.ravel(), np.zeros(2 * n + edges)])
    whole = np.concatenate([np.ones(2 * n), np.zeros(n + edges)])
    bounds = (
        np.concatenate([x[0], np.zeros(2 * n + edges)]),
        np.concatenate([x[1], np.ones(n), np.full(n + edges, float(n))]),
    )
    return costs, whole, bounds, A, low, high
