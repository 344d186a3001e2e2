"""Small drawings of energies along walks from what was predicted to what is true."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from enstruct.report.blocks import signed, signed_shortly
from enstruct.report.markup import Markup
from enstruct.report.svg import Scale, dot, drawing, hint, line, polyline, words

WIDTH, HEIGHT = 208, 132


def end_of(value: float) -> str:
    """As it stands in a drawing."""
    return signed(value, 1) if abs(value) >= 1 else signed_shortly(value)


def walk(name: str, title: Any, energies: Sequence[float]) -> Markup:
    """``energies``: of the first set, of each on the way, of the last; drawn relative to the first. Each has its own scale."""
    values = [value - energies[0] for value in energies]
    low, high = min(values), max(values)
    x, y = Scale(0, max(1, len(values) - 1), 16, WIDTH - 16), Scale(low, high, HEIGHT - 44, 24)
    points = [(x(i), y(value)) for i, value in enumerate(values)]
    end = "of-third" if values[-1] > 0 else "of-second"
    falls = len(values) > 1 and values[-1] < values[-2]  # the number stands where the line does not come from
    last = words((points[-1][0] + 8, points[-1][1] + (17 if falls else -10)), end_of(values[-1]), "end")
    shapes = [
        line((8, y(0)), (WIDTH - 8, y(0)), "even"),
        polyline(points, "first", stroke_width="1.8"),
        *(dot(point, 2.5, "of-first", hint(signed(value))) for point, value in zip(points[1:-1], values[1:-1], strict=True)),
        dot(points[0], 4.5, "node", hint("predicted")),
        dot(points[-1], 4.5, end, hint(f"true: {signed(values[-1])}")),
        words((8, HEIGHT - 8), "predicted", "start", "quiet"),
        words((WIDTH - 8, HEIGHT - 8), "true", "end", "quiet"),
        last,
    ]
    said = "Energy relative to the predicted set, a label a step: " + ", ".join(signed(value) for value in values)
    return drawing(name, WIDTH, HEIGHT, title, said, *shapes)
