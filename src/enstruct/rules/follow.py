"""What follows from told labels, and which of them contradict a rule.

Unit propagation: an inequality that can only just be met fixes all its open labels; until nothing more follows. In groups whose
sets are listed what follows is exact: the sets that agree with what is told are gone through.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from enstruct.errors import DataError, shortened, shown
from enstruct.rules.system import Group, RuleSystem

MOST_EXPLAINED = 40
"""Told labels of a row among which the few that contradict a rule are looked for."""


def follow(system: RuleSystem, known: NDArray[Any]) -> NDArray[Any]:
    """Told labels (rows, labels), NaN where nothing is told, with what follows from them.

    DataError for a row of which the told labels break a rule that binds: which row, which labels, which rule.
    """
    out, wrong = _follow(system, known)
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise DataError(_explained(system, known, row))
    return out


def consequences(system: RuleSystem, labels: NDArray[np.intp]) -> sparse.csr_matrix:
    """(2 len(labels), all labels) of each label told to be absent, and then of each told to be there, what follows: 1 for labels
    that are there then, -1 for those that are absent, but for the told one itself and for what holds whatever is told."""
    n, parts = len(labels), []
    always = ~np.isnan(_follow(system, np.full((1, system.n_labels), np.nan))[0][0])
    for block in system.blocks(2 * n):
        k = np.arange(2 * n)[block]
        told = np.full((len(k), system.n_labels), np.nan, dtype=np.float32)
        told[np.arange(len(k)), labels[k % n]] = k // n
        found = np.nan_to_num(2 * _follow(system, told)[0] - 1).astype(np.int8)
        found[np.arange(len(k)), labels[k % n]] = 0
        found[:, always] = 0
        parts.append(sparse.csr_matrix(found))
    return sparse.vstack(parts, format="csr")


def are_possible(system: RuleSystem, known: NDArray[Any]) -> NDArray[np.bool_]:
    """(rows,) whether what is told of a row contradicts no rule."""
    return ~_follow(system, known)[1]


def _follow(system: RuleSystem, known: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """(with what follows, (rows,) whether there is a contradiction)."""
    parts = [_of_block(system, known[block]) for block in system.blocks(len(known))]
    out, wrong = zip(*parts, strict=True) if parts else ([known], [np.zeros(0, dtype=bool)])
    return np.concatenate(out), np.concatenate(wrong)


def _of_block(system: RuleSystem, known: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    out, wrong = np.array(known, dtype=np.float64), np.zeros(len(known), dtype=bool)
    binds = system.binds
    A, least = system.matrix[binds], system.least[binds]
    up, down = A.maximum(0).T.tocsr(), (-A).maximum(0).T.tocsr()  # (labels, inequalities)
    rows = np.arange(len(out))
    while len(rows):
        y = out[rows]
        hole = np.isnan(y)
        slack = (A @ np.where(hole, 0.0, y).T + up.T @ hole.T.astype(np.float64)).T - least  # (rows, inequalities)
        wrong[rows] |= (slack < 0).any(1)
        tight = (slack == 0).astype(np.float64)
        there, absent = ((side @ tight.T).T > 0 for side in (up, down))
        there, absent = there & hole, absent & hole
        wrong[rows] |= (there & absent).any(1)
        out[rows] = np.where(there, 1.0, np.where(absent, 0.0, y))
        rows = rows[(there | absent).any(1) & ~wrong[rows]]
    for group in system.groups:
        if group.listed:
            _exactly(group, out, wrong)
    return out.astype(known.dtype), wrong


def _exactly(group: Group, out: NDArray[Any], wrong: NDArray[np.bool_]) -> None:
    """In place, by the group's list of legal sets."""
    told = (~np.isnan(out[:, group.labels])).any(1)
    for rows in (np.flatnonzero(told & ~wrong), np.flatnonzero(~told)):  # rows of which nothing is told are all alike
        if not len(rows):
            continue
        y = out[np.ix_(rows, group.labels)]
        fits = agreeing(group, y if told[rows[0]] else y[:1])
        share = fits.astype(np.float64) @ group.states / np.maximum(fits.sum(1, keepdims=True), 1)
        wrong[rows] |= ~fits.any(1)
        fixed = ((share == 0) | (share == 1)) & fits.any(1, keepdims=True)
        out[np.ix_(rows, group.labels)] = np.where(np.isnan(y) & fixed, share, y)


def agreeing(group: Group, told: NDArray[Any]) -> NDArray[np.bool_]:
    """(rows, states) whether the group's legal sets have what is told (rows, labels of the group)."""
    states = group.states.astype(np.float64)
    against = (told == 1).astype(np.float64) @ (1 - states).T + (told == 0).astype(np.float64) @ states.T
    return np.asarray(against == 0)


def _explained(system: RuleSystem, known: NDArray[Any], row: int) -> str:
    """Told labels are dropped one by one as long as the others contradict still."""
    told = known[row : row + 1].astype(np.float64)
    names = np.flatnonzero(~np.isnan(told[0]) & system.tied)
    kept = told.copy()
    for i in names[:: max(1, len(names) // MOST_EXPLAINED)] if len(names) > MOST_EXPLAINED else names:
        fewer = kept.copy()
        fewer[0, i] = np.nan
        if _follow(system, fewer)[1][0]:
            kept = fewer
    left = np.flatnonzero(~np.isnan(kept[0]) & system.tied)
    words, rule = told_in_words(system, left, kept[0, left], 4), shortened(_broken_rule(system, kept), 110)
    return f"known tells {words} in row {row}, which breaks the rule {rule}: mend one of them."


def told_in_words(system: RuleSystem, labels: NDArray[np.intp], told: NDArray[np.float64], most: int) -> str:
    """The first of these labels, each there or not as ``told`` (labels,) says."""
    parts = [f"{'' if there else 'not '}{shown(system.names[i], 20)}" for i, there in zip(labels[:most], told, strict=False)]
    return ", ".join(parts) + (" ..." if len(labels) > most else "")


def _broken_rule(system: RuleSystem, known: NDArray[Any]) -> str:
    """Words of an inequality that cannot be met any more: where none is broken outright, of one that is about what is told."""
    y = known
    for _ in range(system.n_labels + 1):
        broken = np.flatnonzero(system.broken(y)[0] & system.binds)
        if len(broken):
            return system.words(int(broken[0]))
        binds = np.flatnonzero(system.binds)
        hole = np.isnan(y)
        tight = binds[(system.most(y)[0, binds] == system.least[binds])]
        forced = [(i, value) for k in tight for i, value in _forced(system, int(k)) if hole[0, i]]
        if not forced:
            break
        y = y.copy()
        for i, value in forced:
            y[0, i] = value
    told = set(np.flatnonzero(~np.isnan(known[0])).tolist())
    about = next((k for k in np.flatnonzero(system.binds) if told & set(system.inequalities[k].labels)), None)
    return "that ties them" if about is None else system.words(int(about))


def _forced(system: RuleSystem, k: int) -> list[tuple[int, float]]:
    one = system.inequalities[k]
    return [*((i, 1.0) for i in one.plus), *((i, 0.0) for i in one.minus)]
