"""Reward-guided search: a better output near a given one (SG-SPEN, Rooshenas et al. 2019).

Random moves, kept if the reward rises: a stretch of tokens gets one tag, a tag of its neighbours twice in three times (which
moves a boundary), else any.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

LONGEST = 8


def improve(
    tags: NDArray[np.int64],
    score: Callable[[NDArray[np.int64]], float],
    n_tags: int,
    tries: int,
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """(time,) tags -> the best found in ``tries`` moves; the input itself if none is better."""
    best, value = tags.copy(), score(tags)
    n = len(tags)
    for _ in range(tries):
        length = min(n, 1 + int(rng.integers(LONGEST)))
        begin = int(rng.integers(n - length + 1))
        neighbours = [best[i] for i in (begin - 1, begin + length) if 0 <= i < n]
        tag = rng.choice(neighbours) if neighbours and rng.random() < 2 / 3 else rng.integers(n_tags)
        moved = best.copy()
        moved[begin : begin + length] = tag
        moved_value = score(moved)
        if moved_value > value:
            best, value = moved, moved_value
    return best
