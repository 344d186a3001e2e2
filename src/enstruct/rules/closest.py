"""The best label set that no rule forbids: exact, by going through a group's legal sets or, where these are too many, by an
integer program (SciPy's HiGHS); where rules only count a group's labels, by the order of their scores.

    max_y  sum_i s_i y_i - sum over soft inequalities broken of their weights      over y that break nothing that binds
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp

from enstruct.errors import DataError, EnstructError, shortened
from enstruct.rules.follow import agreeing, follow, told_in_words
from enstruct.rules.marginals import raised
from enstruct.rules.system import Group, RuleSystem

LEAST = 1e-6
"""What changing a label costs at least, so that of label sets as good the one with fewer changes is taken."""


def best(
    system: RuleSystem, scores: NDArray[Any], known: NDArray[Any] | None = None, numbers: NDArray[Any] | None = None
) -> NDArray[np.uint8]:
    """(rows, labels) of scores (rows, labels); told labels (rows, labels; NaN where nothing is told) stay as told.

    DataError for told labels that no legal set has; ``numbers`` (rows,) are those that it names rows by.
    """
    scores = np.asarray(scores, dtype=np.float64)
    told = np.full(scores.shape, np.nan) if known is None else follow(system, np.asarray(known, dtype=np.float64))
    out = np.where(np.isnan(told), scores > 0, told == 1).astype(np.uint8)
    named = np.arange(len(scores)) if numbers is None else numbers
    for group in system.groups:
        # a set of positive scores that breaks nothing is the best there is
        rows = np.flatnonzero(system.broken(out)[:, group.rows].any(1))
        if not len(rows):
            continue
        few = np.ix_(rows, group.labels)
        if group.listed:
            values = scores[few] @ group.states.T - group.penalty
            out[few] = group.states[np.where(agreeing(group, told[few]), values, -np.inf).argmax(1)]
        elif (bounds := _bounds(system, group)) is not None:
            out[few], there_is = of_size(scores[few], told[few], *bounds)
            if not there_is.all():
                at = rows[int(np.argmin(there_is))]
                raise _none_left(system, group, told[at, group.labels], int(named[at]))
        else:
            for row in rows:
                some = row, group.labels
                out[some] = _by_program(system, group, scores[some], told[some], int(named[row]))
    return out


def _bounds(system: RuleSystem, group: Group) -> tuple[int, int] | None:
    """How many of the group's labels there must and may be, where nothing else is said of them."""
    least, most = 0, len(group.labels)
    for k in group.rows:
        one = system.inequalities[k]
        if not system.binds[k] or len(one.labels) < len(group.labels) or (one.plus and one.minus):
            return None
        least, most = (max(least, one.least), most) if one.plus else (least, min(most, -one.least))
    return least, most


def of_size(
    scores: NDArray[np.float64], told: NDArray[np.float64], least: int, most: int
) -> tuple[NDArray[np.uint8], NDArray[np.bool_]]:
    """Of sets (rows, labels) with so many labels those of the largest sum of scores, with told labels as told, and (rows,) where
    there is one."""
    scores = np.where(np.isnan(told), scores, np.where(told == 1, np.inf, -np.inf))
    size = np.clip((scores > 0).sum(1), least, most)
    place = (-scores).argsort(1, kind="stable").argsort(1, kind="stable")
    possible = ((told == 1).sum(1) <= size) & (size <= (told != 0).sum(1))
    return (place < size[:, None]).astype(np.uint8), possible


def _none_left(system: RuleSystem, group: Group, told: NDArray[np.float64], row: int) -> DataError:
    """``told``: of the group's labels."""
    some = np.flatnonzero(~np.isnan(told))
    said = f" ({told_in_words(system, group.labels[some], told[some], 3)})" if len(some) else ""
    rules = list(dict.fromkeys(system.words(int(k)) for k in group.rows if system.binds[k]))
    words = "; ".join(shortened(one, 120 // min(len(rules), 3)) for one in rules[:3])
    also = f" (and {len(rules) - 3} more)" if len(rules) > 3 else ""
    return DataError(f"What is told of row {row}{said} leaves no label set that keeps {words}{also}: tell less, or mend one.")


def _by_program(
    system: RuleSystem, group: Group, scores: NDArray[np.float64], told: NDArray[np.float64], row: int
) -> NDArray[np.uint8]:
    """Of one row; soft inequalities have a slack of 0 or 1 that costs their weight."""
    A, least, weight = system.matrix[group.rows][:, group.labels], system.least[group.rows], system.weight[group.rows]
    soft = np.flatnonzero(np.isfinite(weight))
    reach = least[soft] + np.asarray((-A[soft]).maximum(0).sum(1)).ravel()  # as much as an inequality can lack
    slack = sparse.csr_matrix((reach, (soft, np.arange(len(soft)))), shape=(len(group.rows), len(soft)))
    low = np.concatenate([np.where(told == 1, 1.0, 0.0), np.zeros(len(soft))])
    high = np.concatenate([np.where(told == 0, 0.0, 1.0), np.ones(len(soft))])
    result = milp(
        np.concatenate([-scores, weight[soft]]),
        integrality=np.ones(len(low)),
        bounds=Bounds(low, high),
        constraints=LinearConstraint(sparse.hstack([A, slack]).tocsc(), least, np.inf),
        options={"mip_rel_gap": 0.0},
    )
    if result.status == 2:
        raise _none_left(system, group, told, row)
    if result.x is None:
        raise EnstructError(f"The integer program of row {row} ended without an answer ({result.message}).")
    return np.asarray(np.rint(result.x[: len(scores)])).astype(np.uint8)


def nearest(system: RuleSystem, chosen: NDArray[Any], p: NDArray[Any], known: NDArray[Any] | None = None) -> NDArray[np.uint8]:
    """Sets (rows, labels) that keep the rules, of ``chosen`` ones, which a decision rule made of marginals p (rows, labels).

    Where nothing binds a group but that labels imply others, as in a hierarchy, what is implied is added. Elsewhere a set that
    breaks something takes the cheapest change: a label costs as much as its marginal lies away from where the decision rule cut
    it, halfway between the lowest marginal taken and the highest left out. Soft rules change nothing here.
    """
    told = None if known is None else follow(system, np.asarray(known, dtype=np.float64))
    sets = np.asarray(chosen, dtype=np.uint8)
    if told is not None:
        sets = np.where(np.isnan(told), sets, told == 1).astype(np.uint8)
    rows = np.flatnonzero(~system.are_kept(sets))
    if not len(rows):
        return sets
    out = sets.copy()
    out[rows] = raised(system, sets[rows])
    rows = rows[~system.are_kept(out[rows])]
    if len(rows):
        y, marginals = out[rows] == 1, np.asarray(p, dtype=np.float64)[rows]
        lowest, highest = np.where(y, marginals, 1.0).min(1), np.where(y, 0.0, marginals).max(1)
        cut = ((lowest + highest) / 2)[:, None]
        distance = np.maximum(np.where(y, marginals - cut, cut - marginals), 0.0) + LEAST
        out[rows] = best(system.binding, np.where(y, distance, -distance), None if told is None else told[rows], rows)
    return out
