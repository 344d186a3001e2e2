"""The reliability diagram: how often what has a probability is there, and how many have it.

    bin b: the decisions with p in [b, b + 1) / B      x: their mean p      y: the share of them that is there

Of a calibrated model the points lie on the diagonal. Above it the model is too unsure of what is there, below it too sure. Below
the diagram stand the numbers of the bins, in powers of ten.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from enstruct.report.blocks import whole
from enstruct.report.markup import Markup
from enstruct.report.svg import Scale, box, dot, drawing, hint, line, polyline, words

BINS = 15
"""As :func:`enstruct.metrics.calibration_error` has them."""
SIDE, LEFT, COUNTS = 360, 52, 84


class Bins(NamedTuple):
    """Of each bin (bins,): how many decisions, their mean probability, the share of them that is there (NaN of none)."""

    counts: NDArray[np.int64]
    means: NDArray[np.float64]
    shares: NDArray[np.float64]


def binned(p: NDArray[np.float64], there: NDArray[np.bool_], bins: int = BINS) -> Bins:
    """Of decisions (n,) with these probabilities."""
    which = np.minimum((p * bins).astype(np.int64), bins - 1)
    counts = np.bincount(which, minlength=bins)
    with np.errstate(invalid="ignore"):
        means, shares = (np.bincount(which, values, bins) / counts for values in (p, there))
    return Bins(counts, means, shares)


def reliability_diagram(name: str, of: Bins, what: str) -> Markup:
    """``what``: what is decided, as "labels"."""
    bins, width, height = len(of.counts), LEFT + SIDE + 24, 12 + SIDE + 24 + COUNTS + 44
    x, y = Scale(0, 1, LEFT, LEFT + SIDE), Scale(0, 1, 12 + SIDE, 12)
    floor = 12 + SIDE + 24 + COUNTS
    most = max(1, math.ceil(math.log10(max(10, int(of.counts.max(initial=1))))))
    tall = Scale(0, most, floor, floor - COUNTS)
    shapes = []
    for tick in (0, 0.25, 0.5, 0.75, 1):
        shapes += [line((LEFT, y(tick)), (LEFT + SIDE, y(tick)), "grid"), line((x(tick), 12), (x(tick), 12 + SIDE), "grid")]
        shapes += [words((LEFT - 8, y(tick) + 4), f"{tick:g}", "end", "quiet")]
        shapes += [words((x(tick), floor + 16), f"{tick:g}", "middle", "quiet")]
    for power in range(0, most + 1, max(1, most // 3)):
        shapes += [line((LEFT, tall(power)), (LEFT + SIDE, tall(power)), "grid")]
        shapes += [words((LEFT - 8, tall(power) + 4), whole(10**power), "end", "quiet")]
    shapes.append(line((x(0), y(0)), (x(1), y(1)), "even"))
    seen = [b for b in range(bins) if of.counts[b]]
    for b in seen:  # a rule from each point to where it would lie
        shapes.append(line((x(of.means[b]), y(of.means[b])), (x(of.means[b]), y(of.shares[b])), "second", stroke_width="1.5"))
    shapes.append(polyline([(x(of.means[b]), y(of.shares[b])) for b in seen], "first", stroke_width="1.8"))
    for b in seen:
        told = f"{whole(int(of.counts[b]))} {what} of mean p {of.means[b]:.3f}, of which {100 * of.shares[b]:.1f}% are there"
        shapes.append(dot((x(of.means[b]), y(of.shares[b])), 4, "of-first", hint(told)))
        top, left = tall(math.log10(of.counts[b]) if of.counts[b] > 1 else 0.12), x(b / bins)
        shapes.append(box(left + 1, top, SIDE / bins - 2, floor - top, "of-faint", hint(told)))
    shapes.append(words((LEFT + SIDE / 2, floor + 36), "probability", "middle"))
    shapes.append(words((LEFT + 6, 26), "share that is there", "start"))
    shapes.append(words((LEFT + SIDE, floor - COUNTS - 6), f"number of {what}", "end"))
    away = [f"p {of.means[b]:.2f}: {of.shares[b]:.2f} of {whole(int(of.counts[b]))}" for b in seen]
    return drawing(
        name,
        width,
        height,
        f"Reliability of {what}",
        "Mean probability of each bin, share there, number: " + "; ".join(away),
        *shapes,
    )
