"""How likely given labels are right, where some were noted wrongly: forgotten ones, ones too many, both.

    p = (1 - lost) q + added (1 - q)      p: that the label is noted, by a model that learnt from such notes; q: that it is there

    right, of a label that is noted       (1 - lost) q / p
    right, of one that is not             (1 - added) (1 - q) / (1 - p)

How many notes are wrong is seen where the model is surest: ``added`` is the share noted of the labels that it holds to be the
least likely, ``lost`` the share not noted of the likeliest ones, each by counting, as a model's own extremes are surer than they
are right. The probability of the note alone would take forgotten labels to be as rare as made-up ones, and where labels are rare
it names unlikely ones that are there before any that is missing. The rates are those of class-conditional noise (Natarajan et al.
2013); to read them off where a model is surest is due to Liu and Tao (2016). They are estimates: what the model cannot tell
counts as noise, and where one error comes with another, as where labels were moved, they can be too low.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

LEAST, LIKELIEST = 0.1, 0.02
"""Of the labels that are not there, and of those that are, by what the model expects: so many show the rates."""
COUNTED = 50
"""Cells that show a rate at least, as far as these are a quarter of those expected."""
LEVEL = 1e-9
"""Probabilities that differ by no more are level: p and 1 - (1 - p) differ by rounding."""
MOST = 0.9
"""Of both rates together: with 1 a note would say nothing."""
LEAST_ODDS = 0.01
"""What is left of p, and of 1 - p, beyond the rates: it keeps the order of cells that are surely wrong."""


class NoteNoise(NamedTuple):
    """``added``: of labels that are not there, the share noted all the same; ``lost``: of those that are there, the share not."""

    added: float
    lost: float


def quality_of(probability: NDArray[Any], given: NDArray[Any]) -> tuple[NDArray[np.float64], NoteNoise | None]:
    """(the probability that each given label is right, what notes are wrong), from that of the note: (...,), NaN in holes.

    A note that is certain to be so, or not to be, as by a rule, shows nothing of the others and stays as it is. None where no
    other is left.
    """
    out = np.array(probability, dtype=np.float64)
    open_ = (out > 0) & (out < 1)
    if not open_.any():
        return out, None
    noted = np.asarray(given)[open_] == 1
    p = np.where(noted, out[open_], 1 - out[open_])
    noise = note_noise(p, noted)
    out[open_] = right(p, noted, noise)
    return out, noise


def note_noise(p: NDArray[Any], given: NDArray[Any]) -> NoteNoise:
    """From probabilities p and given labels of 0 and 1, of cells in any order (cells,)."""
    n_there, ordered = float(p.sum()), np.sort(p)
    # with all that are level: which of these came first would depend on what was noted of them
    least = p <= ordered[_number(LEAST, len(p) - n_there) - 1] + LEVEL
    likeliest = p >= ordered[-_number(LIKELIEST, n_there)] - LEVEL
    added = ((given[least] == 1).sum() + 0.5) / (least.sum() + 1)
    lost = ((given[likeliest] == 0).sum() + 0.5) / (likeliest.sum() + 1)
    scale = min(1.0, MOST / (added + lost))
    return NoteNoise(float(scale * added), float(scale * lost))


def _number(share: float, cells: float) -> int:
    return max(int(share * cells), min(COUNTED, int(cells / 4)), 1)


def right(p: NDArray[Any], given: NDArray[Any], noise: NoteNoise) -> NDArray[np.float64]:
    """(...,) probability that each given label of 0 or 1 is right, p (...,) that it is noted."""
    p = np.asarray(p, dtype=np.float64)
    apart = 1 - noise.added - noise.lost
    there = np.maximum((p - noise.added) / apart, LEAST_ODDS * p)
    absent = np.maximum((1 - p - noise.lost) / apart, LEAST_ODDS * (1 - p))
    kept, made = (1 - noise.lost) * there, noise.added * absent
    left, forgotten = (1 - noise.added) * absent, noise.lost * there
    return np.where(np.asarray(given) == 1, kept / (kept + made), left / (left + forgotten))
