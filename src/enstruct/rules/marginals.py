"""Marginals of independent labels, once rules are known to hold.

    p'(y) = prod_i p_i^y_i (1 - p_i)^(1 - y_i) exp(-soft(y)) [y keeps what binds] / Z

That is exact where a group's sets are listed. In hierarchies, as the published systems have it, a label becomes as probable as
the most probable one below it (Giunchiglia & Lukasiewicz 2020's max constraint layer). Other groups that are too large to list
keep their marginals: decisions heed the rules all the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from enstruct.rules.system import Group, RuleSystem

CLIP = 1e-7
CELLS = 2**22
"""Numbers (rows, states) at a time."""


def legal_marginals(system: RuleSystem, p: NDArray[Any]) -> NDArray[np.float64]:
    """(rows, labels) of marginals p (rows, labels)."""
    listed = [group for group in system.groups if group.listed and not (group.is_hierarchy and not group.penalty.any())]
    out = np.array(p, dtype=np.float64) if listed else np.asarray(p, dtype=np.float64)  # which raised copies
    for group in listed:
        few = out[:, group.labels]
        step = max(1, CELLS // len(group.states))
        out[:, group.labels] = np.concatenate([_listed(group, few[k : k + step]) for k in range(0, max(len(few), 1), step)])
    return raised(system, out)


def raised(system: RuleSystem, p: NDArray[Any]) -> NDArray[Any]:
    """p (rows, labels) in which no label of a hierarchy is more probable than what it implies."""
    out = np.array(p, order="F")
    for below, above in system.upwards:
        np.maximum(out[:, above], out[:, below], out=out[:, above])
    return out


def _listed(group: Group, p: NDArray[np.float64]) -> NDArray[np.float64]:
    q = np.clip(p, CLIP, 1 - CLIP)
    states = group.states.astype(np.float64)
    return np.asarray(softmax((np.log(q) - np.log1p(-q)) @ states.T - group.penalty, axis=1) @ states)
