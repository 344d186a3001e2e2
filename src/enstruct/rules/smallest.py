"""The smallest set of rules that cannot be met together, whatever the rules are about.

It is found as the smallest set that hits all sets whose removal makes the rest possible (Ignatiev, Previti, Liffiton &
Marques-Silva 2015): a set that hits all those seen so far is tried; where it can be met, it is grown to as many rules as can be,
and what is left over is one more set to hit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp

from enstruct.errors import ConfigError, shortened

MOST_ROUNDS = 500
MOST_WORDS = 220
"""Characters of rules in a message."""


def smallest_conflict(n: int, possible: Callable[[list[int]], bool]) -> list[int]:
    """Numbers of the fewest of n rules that are not ``possible`` together; all n must not be."""
    to_hit: list[NDArray[np.intp]] = []
    tried: list[int] = []
    for _ in range(MOST_ROUNDS):
        if not possible(tried):
            break
        kept = list(tried)
        for k in range(n):
            if k not in kept and possible([*kept, k]):
                kept.append(k)
        to_hit.append(np.setdiff1d(np.arange(n), kept))
        tried = _hitting(n, to_hit).tolist()
    return tried


def refused(what: str, words: Sequence[Any]) -> ConfigError:
    """That no ``what`` meets the rules of these words: all of them where they fit, else the two at either end, where a chain of
    consequences begins and what it runs into stands."""
    together = "this rule" if len(words) == 1 else "these rules together"
    each = [str(one) for one in words]
    several = "; ".join(each)
    if len(several) > MOST_WORDS:
        shown = each if len(each) <= 4 else [*each[:2], *each[-2:]]
        between = [] if len(each) <= 4 else [f"{len(each) - 4} more"]
        parts = [shortened(one, (MOST_WORDS - 12) // len(shown)) for one in shown]
        several = "; ".join([*parts[:2], *between, *parts[2:]])
    return ConfigError(f"No {what} meets {together}: {several}. Drop or mend one.")


def _hitting(n: int, sets: list[NDArray[np.intp]]) -> NDArray[np.intp]:
    """The fewest of n things that are in each of the sets."""
    of, members = np.repeat(np.arange(len(sets)), [len(one) for one in sets]), np.concatenate(sets)
    inside = sparse.csc_matrix((np.ones(len(of)), (of, members)), shape=(len(sets), n))
    result = milp(np.ones(n), integrality=np.ones(n), bounds=Bounds(0, 1), constraints=LinearConstraint(inside, 1, np.inf))
    return np.flatnonzero(np.rint(result.x))
