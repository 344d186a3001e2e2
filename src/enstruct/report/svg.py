"""Drawings as SVG within a page: written by hand, in the page's colours, named and described for those who do not see them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from enstruct.report.markup import Markup, element

Point = tuple[float, float]


def drawing(name: str, width: float, height: float, title: Any, description: Any, *shapes: Markup) -> Markup:
    """``name``: its address on the page, which no other drawing has."""
    return element(
        "svg",
        element("title", title, id=f"{name}-title"),
        element("desc", description, id=f"{name}-desc"),
        *shapes,
        role="img",
        aria_labelledby=f"{name}-title {name}-desc",
        viewBox=f"0 0 {number(width)} {number(height)}",
        width=number(width),
        height=number(height),
    )


@dataclass(frozen=True)
class Scale:
    """Numbers from ``low`` to ``high`` as places from ``start`` to ``end``; what lies beyond is put at the edge."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        extent = self.high - self.low
        share = 0.5 if extent == 0 else (value - self.low) / extent
        return self.start + min(1.0, max(0.0, share)) * (self.end - self.start)


def number(value: float) -> str:
    """Short, as a drawing needs no more than a tenth of a pixel."""
    return f"{value:.1f}".rstrip("0").rstrip(".") if value else "0"


def line(start: Point, end: Point, kind: str, **more: Any) -> Markup:
    (x1, y1), (x2, y2) = start, end
    return element("line", x1=number(x1), y1=number(y1), x2=number(x2), y2=number(y2), class_=kind, **more)


def polyline(points: Sequence[Point], kind: str, **more: Any) -> Markup:
    return element("polyline", points=" ".join(f"{number(x)},{number(y)}" for x, y in points), class_=kind, **more)


def path(steps: str, kind: str, *children: Markup, **more: Any) -> Markup:
    return element("path", *children, d=steps, class_=kind, **more)


def box(left: float, top: float, width: float, height: float, kind: str, *children: Markup, **more: Any) -> Markup:
    size = {"x": number(left), "y": number(top), "width": number(max(0.0, width)), "height": number(max(0.0, height))}
    return element("rect", *children, **size, class_=kind, **more)


def dot(at: Point, radius: float, kind: str, *children: Markup, **more: Any) -> Markup:
    return element("circle", *children, cx=number(at[0]), cy=number(at[1]), r=number(radius), class_=kind, **more)


def words(at: Point, text: Any, anchor: str = "start", kind: str | None = None, **more: Any) -> Markup:
    return element("text", text, x=number(at[0]), y=number(at[1]), text_anchor=anchor, class_=kind, **more)


def hint(text: Any) -> Markup:
    """What a shape says when it is pointed at."""
    return element("title", text)
