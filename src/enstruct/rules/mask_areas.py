"""Whether boxes and sizes of masks leave an image at all: pixels to share out, by a linear program.

Pixels that the same boxes take are a cell. Of class v there are a_vc pixels in cell c, none where one of its boxes leaves it out:

    sum_v a_vc <= pixels of c        least_v <= sum_c a_vc <= most_v

The program is that of a flow, which is met by whole numbers where it is met at all. Connected pieces are left aside.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog


def leave_an_image(least: Sequence[float], most: Sequence[float], grids: Sequence[NDArray[Any]]) -> bool:
    """Whether classes of at least and at most so many pixels can be laid out side by side, each within its own one of the
    ``grids`` (height, width), the pixels that its boxes leave it."""
    inside, pixels = np.unique(np.stack([grid.ravel() for grid in grids]), axis=1, return_counts=True)  # (classes, cells)
    n, n_cells = inside.shape
    result = linprog(
        np.zeros(n * n_cells),
        A_ub=np.vstack([np.tile(np.eye(n_cells), n), kron := np.kron(np.eye(n), np.ones(n_cells)), -kron]),
        b_ub=np.concatenate([pixels, most, np.negative(least)]),
        bounds=np.stack([np.zeros(n * n_cells), (inside * pixels).ravel()], axis=1),
    )
    return bool(result.status != 2)
