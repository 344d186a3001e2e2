"""Whether rules over label sets can be met together, and which few of them cannot: integer programs, group by group."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp

from enstruct.data.hierarchy import Hierarchy
from enstruct.rules.smallest import refused, smallest_conflict
from enstruct.rules.system import RuleSystem


def check_possible(system: RuleSystem) -> None:
    """ConfigError that names the smallest set of binding rules that no label set meets, if there is one."""
    found = smallest_contradiction(system)
    if found:
        raise refused("label set", [system.words(k) for k in found])


def smallest_contradiction(system: RuleSystem) -> list[int]:
    """A number of an inequality of each of the rules, edges of a hierarchy being rules of their own; none where all that bind can
    be met."""
    for group in system.groups:
        rows = group.rows[system.binds[group.rows]]
        if len(rows) and not len(group.states) and not _possible(system, rows):
            return _smallest(system, _units(system, rows))
    return []


def _smallest(system: RuleSystem, units: list[NDArray[np.intp]]) -> list[int]:
    def possible(some: list[int]) -> bool:
        return not some or _possible(system, np.concatenate([units[k] for k in some]))

    return [int(units[k][0]) for k in smallest_conflict(len(units), possible)]


def _units(system: RuleSystem, rows: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    """The inequalities, rule by rule."""
    own = [(-1 - int(k) if isinstance(system.rules[system.owner[k]], Hierarchy) else int(system.owner[k])) for k in rows]
    return [rows[np.array(own) == one] for one in dict.fromkeys(own)]


def _possible(system: RuleSystem, rows: NDArray[np.intp]) -> bool:
    A = system.matrix[rows]
    labels = np.unique(A.indices)
    few = A[:, labels].tocsc()
    result = milp(
        np.zeros(len(labels)),
        integrality=np.ones(len(labels)),
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(few, system.least[rows], np.inf),
    )
    return bool(result.status != 2)
