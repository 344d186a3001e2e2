"""Marginals of independent labels, once rules are known to hold.

    p'(y) = prod_i p_i^y_i (1 - p_i)^(1 - y_i) exp(-soft(y)) [y keeps what binds] / Z

That is exact where a group's sets are listed, and where rules only count its labels: with F_i(s) = p(s of the first i labels) and
G_i(s) = E[exp(-cost(s + how many of the labels from i on))], both by a recursion over labels,

    p'(y_i = 1) = p_i sum_s F_i(s) G_{i+1}(s + 1) / G_0(0)

Where labels only imply others, as in hierarchies, a label becomes as probable as the most probable one below it, as the published
systems have it (Giunchiglia & Lukasiewicz 2020's max constraint layer): of y_1 -> y_2 at a half each that gives a half and a
half, where independent labels that keep the rule would have a third and two thirds. Other groups that are too large to list keep
their marginals: decisions heed the rules all the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

from enstruct.rules.system import Group, RuleSystem

CLIP = 1e-7
CELLS = 2**22
"""Numbers (rows, states) at a time."""


def legal_marginals(system: RuleSystem, p: NDArray[Any]) -> NDArray[np.float64]:
    """(rows, labels) of marginals p (rows, labels)."""
    exact = [group for group in system.groups if len(group.cost) or (group.listed and _weighs(group))]
    out = np.array(p, dtype=np.float64) if exact else np.asarray(p, dtype=np.float64)  # which raised copies
    for group in exact:
        few = out[:, group.labels]
        step = max(1, CELLS // (len(group.states) if group.listed else len(group.cost) ** 2))
        answer = _listed if group.listed else _counted
        out[:, group.labels] = np.concatenate([answer(group, few[k : k + step]) for k in range(0, max(len(few), 1), step)])
    return raised(system, out)


def _weighs(group: Group) -> bool:
    """Whether there is more in it than that labels imply others."""
    return not group.is_hierarchy or bool(group.penalty.any())


def raised(system: RuleSystem, p: NDArray[Any]) -> NDArray[Any]:
    """p (rows, labels) in which no label of a hierarchy is more probable than what it implies."""
    out = np.array(p, order="F")
    for below, above in system.upwards:
        np.maximum(out[:, above], out[:, below], out=out[:, above])
    return out


def _counted(group: Group, p: NDArray[np.float64]) -> NDArray[np.float64]:
    """(rows, labels) by the recursion over labels, in logarithms: of many labels, sizes that are allowed may be less probable
    than any number."""
    (rows, n), (log_p, log_q) = p.shape, _logs(p)
    onward = np.broadcast_to(-group.cost, (rows, n + 1))
    later = [onward]  # G_n, then those before it
    for i in range(n - 1, 0, -1):
        # of the largest size there is no next, and nobody asks: of i labels no more than i are there
        onward = np.logaddexp(log_q[:, i, None] + onward[:, :-1], log_p[:, i, None] + onward[:, 1:])
        later.append(onward)
    out = np.empty((rows, n))
    before = np.zeros((rows, 1))  # F_0, of sizes 0 to i
    for i in range(n):
        onward = later.pop()
        there = np.logaddexp.reduce(log_p[:, i, None] + before + onward[:, 1:], axis=1)
        absent = np.logaddexp.reduce(log_q[:, i, None] + before + onward[:, :-1], axis=1)
        out[:, i] = expit(there - absent)
        one_more, as_many = (
            np.pad(before + log[:, i, None], ((0, 0), side), constant_values=-np.inf)
            for log, side in ((log_p, (1, 0)), (log_q, (0, 1)))
        )
        before = np.logaddexp(one_more, as_many)
    return out


def _logs(p: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    q = np.clip(p, CLIP, 1 - CLIP)
    return np.log(q), np.log1p(-q)


def _listed(group: Group, p: NDArray[np.float64]) -> NDArray[np.float64]:
    q = np.clip(p, CLIP, 1 - CLIP)
    states = group.states.astype(np.float64)
    return np.asarray(softmax((np.log(q) - np.log1p(-q)) @ states.T - group.penalty, axis=1) @ states)
