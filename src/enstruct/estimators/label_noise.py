"""How likely given labels are right, where some were noted wrongly: forgotten ones, ones too many, both.

    p = (1 - lost) q + added (1 - q)      p: that the label is noted, by a model that learnt from such notes; q: that it is there

    right, of a label that is noted       (1 - lost) q / p
    right, of one that is not             (1 - added) (1 - q) / (1 - p)

    moved, of a label that is there       noted as one that the row has not, and not itself

What x and the row's other labels say of a note (:func:`enstruct.joint.holes.given_others`) is blind to labels that were moved:
where rows have one label mostly, a wrong one is the better for it that the right one is missing. What x alone says is not. Where
x is mostly right where it is surest, and most of both rates that it shows are gone once the other labels are heeded, by more than
chance, labels are taken to have been moved as often as the rate of lost ones fell, each to any of those that its row has not. Of
m, the odds that a label and another one are exchanged (:mod:`enstruct.joint.exchanges`), comes then how likely a note stands for
another:

    right, of a label that is noted       as above, with p = 1 / (1 + m), lost = moved and added = moved / rivals
    wrong, of one that is not             odds m moved / rivals             rivals: labels that are not noted in the row

whose odds to be wrong are added to those of single notes.

It is an upper estimate: what x alone cannot tell, or what the energy makes better of it, counts as moved too.

How many notes are wrong is seen where the model is surest: ``added`` is the share noted of the labels that it holds to be the
least likely, ``lost`` the share not noted of the likeliest ones, each by counting, as a model's own extremes are surer than they
are right. The probability of the note alone would take forgotten labels to be as rare as made-up ones, and where labels are rare
it names unlikely ones that are there before any that is missing. The rates are those of class-conditional noise (Natarajan et al.
2013); to read them off where a model is surest is due to Liu and Tao (2016). They are estimates: what the model cannot tell
counts as noise.
"""

from __future__ import annotations

from collections.abc import Callable
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
MOSTLY = 0.5
"""Share of the rates that x alone shows, of lost labels and of added ones, by which the row's other labels must lower both."""
BEYOND_CHANCE = 2.0
"""Standard errors of the rate of lost labels by which they must lower it."""
TOO_LITTLE = 1 / 3
"""Share lost of the labels that x is surest of from which on it says too little of any to tell."""
LEAST_ODDS = 0.01
"""What is left of p, and of 1 - p, beyond the rates: it keeps the order of cells that are surely wrong."""


class NoteNoise(NamedTuple):
    """``added``: of labels that are not there, the share noted all the same; ``lost``: of those that are there, the share not;
    ``moved``: of those, the share that seems to be noted as another label, 0 where most errors are of other kinds."""

    added: float
    lost: float
    moved: float = 0.0


def quality_of(
    probability: NDArray[Any],
    given: NDArray[Any],
    marginals: NDArray[Any] | None = None,
    exchanges: Callable[[], NDArray[Any]] | None = None,
) -> tuple[NDArray[np.float64], NoteNoise | None]:
    """(the probability that each given label is right, what notes are wrong), from that of the note: (...,), NaN in holes.

    A note that is certain to be so, or not to be, as by a rule, shows nothing of the others, and is as likely right as it says
    unless labels were moved. None where no other is left and none was moved. ``marginals`` (...,) of the labels by x alone, and
    ``exchanges``, which gives m (...,): with both, of (rows, labels), where ``probability`` is by the row's other labels too, it
    is asked whether labels were moved, and m only if so.
    """
    out, given = np.array(probability, dtype=np.float64), np.asarray(given)
    open_, noise = (out > 0) & (out < 1), None
    if open_.any():
        noted = given[open_] == 1
        p = np.where(noted, out[open_], 1 - out[open_])
        noise = note_noise(p, noted)
        out[open_] = right(p, noted, noise)
    told = ~np.isnan(out)
    if marginals is not None and exchanges is not None and told.any():
        there, q = given[told] == 1, np.asarray(probability, dtype=np.float64)[told]
        moved = moved_share(np.asarray(marginals)[told], np.where(there, q, 1 - q), there)
        if moved > 0:
            noise = (noise or NoteNoise(0.0, 0.0))._replace(moved=moved)
            with np.errstate(divide="ignore"):  # what is surely wrong stays so
                out = 1 / (1 / out + moved_odds(exchanges(), given, moved))
    return out, noise


def moved_share(alone: NDArray[Any], by_others: NDArray[Any], given: NDArray[Any]) -> float:
    """From probabilities of labels by x alone, and by the row's other labels too, and given labels of 0 and 1, of cells in any
    order (cells,)."""
    before, after = note_noise(alone, given), note_noise(by_others, given)
    error = (before.lost * (1 - before.lost) / _number(LIKELIEST, float(alone.sum()))) ** 0.5
    fell, added_fell = before.lost - after.lost, before.added - after.added
    mostly = fell > MOSTLY * before.lost and added_fell > MOSTLY * before.added
    return fell if mostly and fell > BEYOND_CHANCE * error and before.lost < TOO_LITTLE else 0.0


def moved_odds(m: NDArray[Any], given: NDArray[Any], moved: float) -> NDArray[np.float64]:
    """(rows, labels) that each given label is wrong as it was moved, or another was moved from it; m (rows, labels)."""
    rate = moved / np.maximum((given == 0).sum(-1, keepdims=True), 1)
    noted = right(1 / (1 + m), np.ones(np.shape(m)), NoteNoise(rate, moved))
    return np.where(given == 1, 1 / noted - 1, rate * m)


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
    """(...,) probability that each given label of 0 or 1 is right, p (...,) that it is noted. Rates may be arrays."""
    p = np.asarray(p, dtype=np.float64)
    apart = 1 - noise.added - noise.lost
    there = np.maximum((p - noise.added) / apart, LEAST_ODDS * p)
    absent = np.maximum((1 - p - noise.lost) / apart, LEAST_ODDS * (1 - p))
    kept, made = (1 - noise.lost) * there, noise.added * absent
    left, forgotten = (1 - noise.added) * absent, noise.lost * there
    return np.where(np.asarray(given) == 1, kept / (kept + made), left / (left + forgotten))
