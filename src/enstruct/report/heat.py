"""A table of numbers as squares: the fuller, the larger; what is below 0 is in another colour, and hollow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from enstruct.report.markup import Markup, cut
from enstruct.report.svg import box, drawing, hint, words

CELL, NAMES, SHOWN = 30, 110, 14
"""Sides of a cell, room for names, characters of a name."""


def heat_table(
    name: str,
    title: Any,
    rows: Sequence[str],
    columns: Sequence[str],
    values: NDArray[np.float64],
    said: Sequence[Sequence[str]],
    axes: tuple[str, str],
) -> Markup:
    """``values`` (rows, columns), the sides of squares by the root of their share of the largest; ``said``: the numbers as they
    are read when pointed at; ``axes``: what rows and columns are."""
    largest = float(np.abs(values).max(initial=0)) or 1.0
    cell = CELL if len(columns) <= 16 else 20
    head = 30 + 4.6 * max((len(cut(column, SHOWN)) for column in columns), default=0)  # names stand askew
    width, height = NAMES + cell * len(columns) + 90, head + cell * len(rows) + 20
    shapes = [
        words((NAMES - 10, head - 12), f"{axes[0]} ↓", "end", "quiet"),
        words((NAMES, height - 4), f"{axes[1]} →", "start", "quiet"),
    ]
    for j, column in enumerate(columns):
        x = NAMES + cell * (j + 0.5)
        shapes.append(words((0, 0), cut(column, SHOWN), "start", transform=f"translate({x + 3:g} {head - 10:g}) rotate(-50)"))
    for i, row in enumerate(rows):
        y = head + cell * i
        shapes.append(words((NAMES - 10, y + cell / 2 + 4), cut(row, SHOWN), "end"))
        for j in range(len(columns)):
            x = NAMES + cell * j
            side = (cell - 5) * float(np.sqrt(abs(values[i, j]) / largest))
            shapes.append(box(x + 1, y + 1, cell - 2, cell - 2, "grid", hint(said[i][j])))
            if side >= 1:
                left, top = x + (cell - side) / 2, y + (cell - side) / 2
                if values[i, j] > 0:
                    shapes.append(box(left, top, side, side, "of-first", hint(said[i][j])))
                else:
                    shapes.append(box(left, top, side, side, "second", hint(said[i][j]), stroke_width="1.6"))
    flat = [(abs(values[i, j]), said[i][j]) for i in range(len(rows)) for j in range(len(columns))]
    largest_ones = "; ".join(text for _, text in sorted(flat, key=lambda pair: -pair[0])[:8])
    return drawing(name, width, height, title, f"The largest: {largest_ones}", *shapes)
