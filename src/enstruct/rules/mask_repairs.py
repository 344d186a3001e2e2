"""The mask of one class near what a decision took, changed until it keeps what binds the class: quick, and nearly always enough.

Which connected set costs least is NP-hard to say: the pieces that are worth most are kept, those that told pixels are in are
joined by cheapest paths, and pixels are added or dropped one by one at the edge.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage, sparse
from scipy.sparse.csgraph import dijkstra

from enstruct.rules.mask_program import ClassOf

MOST_JOINED = 8
"""Further pieces, the best ones, that are tried to be joined to those that are kept."""
STEP = 1e-3
"""What a pixel of a path costs at least, so that paths are short."""
Grid = NDArray[np.bool_]


def repaired(there: Grid, one: ClassOf, sparing: bool) -> Grid | None:
    """Pixels of a class near those that are there, repaired in turn; None where that does not come to what binds it."""
    if (one.told & ~one.may).any():
        return None
    if sparing and one.pieces == 1 and not one.told.any():  # one of its places must be large enough
        parts, n = ndimage.label(one.may)
        one = replace(one, may=np.isin(parts, 1 + np.flatnonzero(np.bincount(parts.ravel(), minlength=n + 1)[1:] >= one.least)))
    chosen: Grid | None = there & one.may
    if one.pieces is not None:
        chosen = _joined(there & one.may, replace(one, gain=np.zeros(there.shape)) if sparing else one, one.pieces)
    if chosen is None:
        return None
    chosen = _shrunk(chosen, one.gain, one.told, one.most, one.pieces is not None)
    chosen = _grown(chosen, one.gain, one.may, one.least, one.pieces)
    return chosen if one.least <= chosen.sum() <= one.most else None


def _joined(chosen: Grid, one: ClassOf, pieces: int) -> Grid | None:
    """The pieces worth most, those of told pixels among them, these joined where they are too many."""
    gain, allowed, mine = one.gain, one.may, one.told
    parts, n = ndimage.label(chosen)
    while len(told := np.setdiff1d(np.unique(parts[mine]), [0])) > pieces:
        path = _path(parts == told[0], mine & (parts != told[0]), gain, allowed)
        if path is None:
            return None
        chosen = chosen | path
        parts, n = ndimage.label(chosen)
    worth = ndimage.sum_labels(gain, parts, np.arange(1, n + 1))
    order = 1 + np.argsort(-np.where(np.isin(np.arange(1, n + 1), told), np.inf, worth), kind="stable")
    out = np.isin(parts, order[:pieces])
    for k in order[pieces : pieces + MOST_JOINED]:  # what is worth more than the way to it
        piece = parts == k
        path = None if (piece & out).any() or worth[k - 1] <= 0 else _path(out, piece, gain, allowed)
        if path is not None and gain[(path | piece) & ~out].sum() > 0:
            out = out | path | piece
    return out


def _beside(row: int, column: int, shape: tuple[int, ...]) -> Iterator[tuple[int, int]]:
    for a, b in ((row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)):
        if 0 <= a < shape[0] and 0 <= b < shape[1]:
            yield a, b


def _path(start: Grid, ends: Grid, gain: NDArray[Any], allowed: Grid) -> Grid | None:
    """Pixels of the cheapest way through what is allowed; None where there is none."""
    number = np.arange(start.size).reshape(start.shape)
    cost = np.maximum(-gain, 0) + STEP
    rows, columns, values = [], [], []
    for a, b in ((np.s_[:, :-1], np.s_[:, 1:]), (np.s_[:-1], np.s_[1:])):
        open_ = allowed[a] & allowed[b]
        for one, other in ((a, b), (b, a)):
            rows.append(number[one][open_])
            columns.append(number[other][open_])
            values.append(cost[other][open_])
    graph = sparse.csr_matrix((np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))), shape=(start.size,) * 2)
    far, before, _ = dijkstra(graph, indices=number[start], min_only=True, return_predecessors=True)
    at = int(number[ends][far[number[ends]].argmin()])
    if np.isinf(far[at]):
        return None
    path = np.zeros(start.size, dtype=bool)
    while at >= 0:
        path[at] = True
        at = int(before[at])
    return path.reshape(start.shape)


def _shrunk(chosen: Grid, gain: NDArray[Any], mine: Grid, most: int, whole: bool) -> Grid:
    """Without the pixels of least gain, told ones aside; ``whole``: pieces stay in one."""
    out = chosen.copy()
    if not whole:
        spare = np.flatnonzero(out & ~mine)
        out.ravel()[spare[np.argsort(gain.ravel()[spare], kind="stable")[: max(0, int(out.sum()) - most)]]] = False
        return out
    while out.sum() > most:
        dropped = 0
        for row, column in np.argwhere(out & ~mine)[np.argsort(gain[out & ~mine], kind="stable")].tolist():
            if out.sum() <= most:
                break
            if _is_spare(out, row, column):
                out[row, column] = False
                dropped += 1
        if not dropped:
            break
    return out


def _is_spare(there: Grid, row: int, column: int) -> bool:
    """Whether what is beside the pixel hangs together without it: around it, or elsewhere."""
    around = np.pad(there, 1)[row : row + 3, column : column + 3].copy()
    around[1, 1] = False
    parts, _ = ndimage.label(around)
    if len({int(parts[at]) for at in ((0, 1), (2, 1), (1, 0), (1, 2)) if parts[at]}) <= 1:
        return True
    without = there.copy()
    without[row, column] = False
    return int(ndimage.label(without)[1]) <= int(ndimage.label(there)[1])


def _grown(chosen: Grid, gain: NDArray[Any], allowed: Grid, least: int, pieces: int | None) -> Grid:
    """With the pixels of most gain, with ``pieces`` beside what is there."""
    out, missing = chosen.copy(), least - int(chosen.sum())
    if missing <= 0:
        return out
    if pieces is None:
        spare = np.flatnonzero(allowed & ~out)
        out.ravel()[spare[np.argsort(-gain.ravel()[spare], kind="stable")[:missing]]] = True
        return out
    edge: list[tuple[float, int, int]] = []

    def put(row: int, column: int) -> None:
        out[row, column] = True
        for a, b in _beside(row, column, out.shape):
            if allowed[a, b] and not out[a, b]:
                heapq.heappush(edge, (-float(gain[a, b]), a, b))

    for row, column in np.argwhere(chosen):
        put(int(row), int(column))
    while out.sum() < least:
        if edge:
            _, row, column = heapq.heappop(edge)
            if not out[row, column]:
                put(row, column)
            continue
        open_ = allowed & ~out
        if not open_.any() or int(ndimage.label(out)[1]) >= pieces:
            break
        put(*divmod(int(np.where(open_, gain, -np.inf).argmax()), out.shape[1]))
    return out
