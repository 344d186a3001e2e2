"""Whether rules can be met together, and which few of them cannot.

The smallest set of rules that no label set meets is found as the smallest set that hits all sets whose removal makes the rest
possible (Ignatiev, Previti, Liffiton & Marques-Silva 2015): a set that hits all those seen so far is tried; where it can be met,
it is grown to as many rules as can be, and what is left over is one more set to hit. Both questions are integer programs.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp

from enstruct.data.hierarchy import Hierarchy
from enstruct.errors import ConfigError, shortened
from enstruct.rules.system import RuleSystem

MOST_ROUNDS = 500


def check_possible(system: RuleSystem) -> None:
    """ConfigError that names the smallest set of binding rules that no label set meets, if there is one."""
    found = smallest_contradiction(system)
    if not found:
        return
    words = "; ".join(shortened(system.words(k), 200 // len(found)) for k in found[:4])
    together = "this rule" if len(found) == 1 else "these rules together"
    raise ConfigError(f"No label set meets {together}: {words}{'; ...' if len(found) > 4 else ''}. Drop or mend one.")


def smallest_contradiction(system: RuleSystem) -> list[int]:
    """A number of an inequality of each of the rules, edges of a hierarchy being rules of their own; none where all that bind can
    be met."""
    for group in system.groups:
        rows = group.rows[system.binds[group.rows]]
        if not len(group.states) and not _possible(system, rows):
            return [int(unit[0]) for unit in _smallest(system, _units(system, rows))]
    return []


def _units(system: RuleSystem, rows: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    """The inequalities, rule by rule."""
    own = [(-1 - int(k) if isinstance(system.rules[system.owner[k]], Hierarchy) else int(system.owner[k])) for k in rows]
    return [rows[np.array(own) == one] for one in dict.fromkeys(own)]


def _smallest(system: RuleSystem, units: list[NDArray[np.intp]]) -> list[NDArray[np.intp]]:
    def possible(some: list[int]) -> bool:
        return not some or _possible(system, np.concatenate([units[k] for k in some]))

    to_hit: list[NDArray[np.intp]] = []
    tried: list[int] = []
    for _ in range(MOST_ROUNDS):
        if not possible(tried):
            break
        kept = list(tried)
        for k in range(len(units)):
            if k not in kept and possible([*kept, k]):
                kept.append(k)
        to_hit.append(np.setdiff1d(np.arange(len(units)), kept))
        tried = _hitting(len(units), to_hit).tolist()
    return [units[k] for k in tried]


def _hitting(n: int, sets: list[NDArray[np.intp]]) -> NDArray[np.intp]:
    """The fewest of n things that are in each of the sets."""
    of, members = np.repeat(np.arange(len(sets)), [len(one) for one in sets]), np.concatenate(sets)
    inside = sparse.csc_matrix((np.ones(len(of)), (of, members)), shape=(len(sets), n))
    result = milp(np.ones(n), integrality=np.ones(n), bounds=Bounds(0, 1), constraints=LinearConstraint(inside, 1, np.inf))
    return np.flatnonzero(np.rint(result.x))


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
