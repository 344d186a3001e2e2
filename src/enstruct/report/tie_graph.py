"""Ties between labels as a graph: labels on a circle, a line for each tie, as wide as it is strong.

Ties that attract are drawn whole, those that repel dashed, in other colours. Labels that are tied lie near one another on the
circle (:func:`circle_order`), at the same places in every graph of the same labels. Nothing is drawn by chance.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from enstruct.report.blocks import signed_shortly
from enstruct.report.markup import Markup, cut, element
from enstruct.report.svg import dot, drawing, hint, number, path, words

RADIUS, SIDE = 185, 480
"""Of the circle; the side that a drawing has at least."""
LONGEST = 18
"""Characters of a label's name that are shown."""


class Tie(NamedTuple):
    """Between labels ``first`` and ``second``, positions in a list of names; positive where they attract each other."""

    first: int
    second: int
    strength: float


def circle_order(strengths: NDArray[np.float64]) -> list[int]:
    """An order around the circle by ties (labels, labels), symmetric: those that attract each other follow one another.

    Labels are joined into ever larger groups by their mean attraction; of the orders that keep groups together the one whose
    neighbours attract most is taken (Bar-Joseph et al. 2001).
    """
    n = len(strengths)
    if n < 3:
        return list(range(n))
    from scipy.cluster.hierarchy import leaves_list, linkage  # only here: few commands draw
    from scipy.spatial.distance import squareform

    apart = strengths.max() - strengths
    np.fill_diagonal(apart, 0)
    tree = linkage(squareform((apart + apart.T) / 2, checks=False), "average", optimal_ordering=True)
    return [int(i) for i in leaves_list(tree)]


def strongest(strengths: NDArray[np.float64], most: int) -> list[Tie]:
    """Of a symmetric table (labels, labels) the ties of largest absolute strength, the strongest first; none of strength 0."""
    first, second = np.triu_indices(len(strengths), 1)
    values = strengths[first, second]
    order = np.argsort(-np.abs(values), kind="stable")[:most]
    return [Tie(int(first[k]), int(second[k]), float(values[k])) for k in order if values[k] != 0]


def tie_graph(name: str, title: Any, names: Sequence[str], order: Sequence[int], ties: Sequence[Tie], unit: str) -> Markup:
    """``order``: which label stands where around the circle. ``unit``: of strengths, as it follows a number."""
    names, n = [cut(name, 60) for name in names], max(1, len(order))
    most = LONGEST if n <= 34 else max(4, LONGEST * 34 // n)
    longest = max((len(cut(names[label], most)) for label in order), default=0)
    side = max(SIDE, 2 * (RADIUS + 24 + 6.3 * longest))
    middle, angle = side / 2, {label: 2 * math.pi * place / n - math.pi / 2 for place, label in enumerate(order)}
    at = {label: (middle + RADIUS * math.cos(turn), middle + RADIUS * math.sin(turn)) for label, turn in angle.items()}
    largest = max((abs(tie.strength) for tie in ties), default=1.0)
    shapes, told = [], []
    for tie in sorted(ties, key=lambda tie: abs(tie.strength)):  # the strongest on top
        (x1, y1), (x2, y2) = at[tie.first], at[tie.second]
        share = math.sqrt(abs(tie.strength) / largest)  # so that one strong tie leaves the others to be seen
        bend = 0.35  # towards the middle, so that lines between neighbours are seen
        cx, cy = middle + bend * ((x1 + x2) / 2 - middle), middle + bend * ((y1 + y2) / 2 - middle)
        said = f"{names[tie.first]} and {names[tie.second]}: {signed_shortly(tie.strength)} {unit}"
        attracts = tie.strength > 0
        shapes.append(
            path(
                f"M{number(x1)} {number(y1)}Q{number(cx)} {number(cy)} {number(x2)} {number(y2)}",
                "first" if attracts else "second",
                hint(said),
                stroke_width=number(0.4 + 4.6 * share),
                stroke_dasharray=None if attracts else "5 4",
                stroke_opacity=f"{0.4 + 0.55 * share:.2f}",
            )
        )
    for label in order:
        x, y = at[label]
        turn = math.degrees(angle[label])
        left = 90 < turn % 360 < 270
        shapes.append(dot((x, y), 4, "node", hint(names[label])))
        shapes.append(
            element(
                "g",
                words((-12 if left else 12, 4), cut(names[label], most), "end" if left else "start"),
                transform=f"translate({number(x)} {number(y)}) rotate({number(turn + 180 if left else turn)})",
            )
        )
    for tie in sorted(ties, key=lambda tie: -abs(tie.strength))[:10]:
        told.append(f"{names[tie.first]} and {names[tie.second]} {signed_shortly(tie.strength)}")
    what = f"{len(order)} labels, {len(ties)} ties; the strongest, in {unit}: " + "; ".join(told)
    return drawing(name, side, side, title, what if ties else f"{len(order)} labels, no ties", *shapes)
