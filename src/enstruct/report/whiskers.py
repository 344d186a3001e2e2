"""Drawings of intervals: a dot at a figure, a line over its interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from enstruct.report.markup import Markup, cut
from enstruct.report.svg import Scale, dot, drawing, hint, line, number, words

ROW, NAMES, WIDTH = 26, 150, 560


class Whisker(NamedTuple):
    """A figure with the ends of its interval (NaN where there is none); ``chosen``: whether it is marked."""

    name: str
    value: float
    low: float
    high: float
    chosen: bool = False


def whiskers(name: str, title: Any, rows: Sequence[Whisker], unit: str = "") -> Markup:
    """One row a figure, over an axis of round numbers."""
    known = [x for row in rows for x in (row.value, row.low, row.high) if not math.isnan(x)]
    low, high = min(known, default=0.0), max(known, default=1.0)
    spare = max(0.0, 1 - (high - low)) / 2  # an axis of a percent at least, as of figures that are all the same
    start = low - spare if low < 0 else max(0.0, low - spare)
    ticks = round_numbers(start, max(high, start + 1))
    scale, height = Scale(ticks[0], ticks[-1], NAMES, WIDTH - 70), ROW * len(rows) + 34
    shapes = []
    for tick in ticks:
        x = scale(tick)
        shapes += [line((x, 6), (x, height - 26), "grid"), words((x, height - 10), number(tick) + unit, "middle", "quiet")]
    for i, row in enumerate(rows):
        y, kind = 6 + ROW * (i + 0.5), "first" if row.chosen else "axis"
        shapes.append(words((NAMES - 14, y + 4), cut(row.name, 22), "end", None if row.chosen else "quiet"))
        if not math.isnan(row.low):
            shapes.append(line((scale(row.low), y), (scale(row.high), y), kind, stroke_width="2"))
        shapes.append(dot((scale(row.value), y), 4.5 if row.chosen else 3.5, "of-first" if row.chosen else "of-faint"))
        shapes.append(words((WIDTH - 56, y + 4), f"{row.value:.1f}{unit}", "start", None if row.chosen else "quiet"))
    told = "; ".join(
        f"{row.name} {row.value:.1f}{unit}" + ("" if math.isnan(row.low) else f", {row.low:.1f} to {row.high:.1f}")
        for row in rows
    )
    return drawing(name, WIDTH, height, title, told, *shapes)


def interval_bar(name: str, title: Any, value: float, low: float, high: float, least: float, most: float) -> Markup:
    """A small one for the cell of a table, on the axis from ``least`` to ``most``, with a line at 0 where that lies between."""
    scale = Scale(least, most, 3, 117)
    shapes = [line((3, 8), (117, 8), "grid")]
    if least <= 0 <= most:
        shapes.append(line((scale(0), 1), (scale(0), 15), "axis"))
    kind = "first" if low > 0 or not least < 0 < most else "second" if high < 0 else "axis"
    shapes.append(line((scale(low), 8), (scale(high), 8), kind, stroke_width="2.5"))
    shapes.append(
        dot((scale(value), 8), 3.5, {"first": "of-first", "second": "of-second", "axis": "of-faint"}[kind], hint(title))
    )
    return drawing(name, 120, 16, title, f"{value:g}, from {low:g} to {high:g}", *shapes)


def round_numbers(low: float, high: float, about: int = 5) -> list[float]:
    """Numbers of one step, 1, 2 or 5 times a power of ten, from below ``low`` to above ``high``."""
    extent = max(high - low, abs(high) * 1e-3, 1e-6)
    power = 10.0 ** math.floor(math.log10(extent / about))
    step = next(factor * power for factor in (1, 2, 5, 10) if extent / (factor * power) <= about)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(k * step, 10) for k in range(first, max(last, first + 1) + 1)]
