"""The section on ties between labels: what the energy has learnt beside what goes together in the data.

    learnt    J_ij of :func:`enstruct.report.energies.interactions`
    in data   the log odds ratio  log (n11 + 1/2)(n00 + 1/2) / (n10 + 1/2)(n01 + 1/2)  of rows in which both labels are known

Both say by how much the log-odds of one label rise with the other, the first once x has been heard, the second of rows at large:
labels that x explains have ties in the data, and need none in the energy.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from enstruct.report.blocks import beside, counted, figure, paragraph, signed, signed_shortly, table, whole
from enstruct.report.energies import LabelEnergy, interactions
from enstruct.report.markup import Markup, cut
from enstruct.report.page import Section
from enstruct.report.tie_graph import Tie, circle_order, strongest, tie_graph

ROWS, OF_RESIDUAL, OF_OTHERS = 64, 256, 48
"""Rows that interactions are averaged over; labels that they are asked of, the most frequent, of a joint and of others."""
MOST_LABELS, MOST_TIES, WRITTEN = 30, 60, 10
NOUGHT = 1e-6
"""Learnt ties below it are what rounding leaves."""
SURE = 2.0
"""Standard errors that a tie in the data must have to be drawn."""


class CoOccurrence(NamedTuple):
    """Each (labels, labels), symmetric: rows with both, log odds ratio, its standard error."""

    both: NDArray[np.float64]
    log_odds: NDArray[np.float64]
    error: NDArray[np.float64]


def co_occurrence(truth: Any) -> CoOccurrence:
    """Of labels (rows, labels), of rows in which both are known; a diagonal of zeros."""
    if sparse.issparse(truth):
        y = truth.astype(np.float64)
        both, rows = (y.T @ y).toarray(), float(truth.shape[0])
        there = np.asarray(y.sum(0)).ravel()
        first, second, known = there[:, None], there[None, :], rows
    else:
        seen = (~np.isnan(truth)).astype(np.float64)
        y = np.nan_to_num(truth)
        both, known = y.T @ y, seen.T @ seen
        first, second = y.T @ seen, seen.T @ y
    cells = [cell + 0.5 for cell in (both, first - both, second - both, known - first - second + both)]
    log_odds = np.log(cells[0]) + np.log(cells[3]) - np.log(cells[1]) - np.log(cells[2])
    error = np.sqrt(sum(1 / cell for cell in cells))
    np.fill_diagonal(log_odds, 0)
    return CoOccurrence(both, log_odds, error)


def ties_section(truth: Any, names: list[str], energy: LabelEnergy | None, X: Any, seed: int) -> Section:
    """``X``: the rows of ``truth``."""
    frequent = np.argsort(-_there(truth), kind="stable")
    chosen, learnt, notes = _learnt(energy, frequent, X, seed)
    if learnt is not None and not learnt.any():
        said = "The energy that was chosen ties no labels to one another: only the data's ties are drawn."
        learnt, notes = None, [paragraph(said)]
    few = truth[:, chosen]
    data = co_occurrence(few)
    sure = np.where(np.abs(data.log_odds) >= SURE * data.error, data.log_odds, 0.0)
    own = [names[i] for i in chosen]
    main = sure if learnt is None else learnt
    shown = _most_tied(main, MOST_LABELS)
    if len(shown) < 2:
        return Section(
            "ties", "How labels hang together", [paragraph("No two labels are tied to each other, in the data or by the energy.")]
        )
    order = [shown[k] for k in circle_order(main[np.ix_(shown, shown)])]
    graphs: list[Markup] = []
    unit = "nats" if learnt is None or (energy is not None and energy.in_nats) else "units of the energy"
    if learnt is not None:
        ties = _among(learnt, shown)
        graphs.append(
            figure(tie_graph("learnt", "Ties that the energy has learnt", own, order, ties, unit), "Learnt by the energy.")
        )
    ties = _among(sure, shown)
    said = f"In the data: ties of more than {SURE:g} standard errors."
    graphs.append(figure(tie_graph("found", "Ties in the data", own, order, ties, "in log-odds"), said))
    most = f"The {len(shown)} most strongly tied labels and up to {MOST_TIES} ties" if len(shown) < len(names) else "All labels"
    blocks = [
        paragraph(
            "Blue, whole lines: labels that attract each other, so that one makes the other likelier. Orange, dashed: labels "
            f"that repel each other. The wider, the stronger. {most} are drawn, at the same places in every graph."
        ),
        *notes,
        beside(*graphs),
        _strongest_table(own, learnt, data, sure, unit),
    ]
    return Section("ties", "How labels hang together", blocks, leaf=True)


def _there(truth: Any) -> NDArray[np.float64]:
    return np.asarray(truth.sum(0)).ravel() if sparse.issparse(truth) else np.nansum(truth, axis=0)


def _learnt(
    energy: LabelEnergy | None, frequent: NDArray[np.intp], X: Any, seed: int
) -> tuple[NDArray[np.intp], NDArray[np.float64] | None, list[Markup]]:
    """(numbers of the labels that ties are asked of, their interactions or None, what is to be said)."""
    most = OF_RESIDUAL if energy is None or energy.own is not None else OF_OTHERS
    if energy is None:
        said = "This model has no energy of its own that ties labels together, so that only the data's ties are drawn."
        return np.sort(frequent[:most]), None, [paragraph(said)]
    varies = np.zeros(len(frequent), dtype=bool)
    varies[energy.varying] = True
    chosen = np.sort([i for i in frequent if varies[i]][:most]).astype(np.intp)
    rows = sampled(X.shape[0], ROWS, seed)
    place = np.searchsorted(energy.varying, chosen)
    learnt = interactions(energy, X[rows], place)
    learnt[np.abs(learnt) < NOUGHT] = 0
    what = (
        "Learnt ties say by how many nats the log-odds of one label rise when another joins it, all else being open"
        if energy.in_nats
        else "Learnt ties say how much lower the energy is with both of two labels than what each of them changes by itself, the "
        "other labels at their marginals"
    )
    said = f"{what}; the mean over {counted(len(rows), 'row')}."
    if len(chosen) < len(energy.varying):
        said += f" They are asked of the {len(chosen)} most frequent labels of {len(energy.varying)}."
    return chosen, learnt, [paragraph(said)]


def sampled(n_rows: int, most: int, seed: int) -> NDArray[np.intp]:
    """Numbers of rows, in their order: all, or ``most`` of them drawn by ``seed``."""
    if n_rows <= most:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng(seed).choice(n_rows, most, replace=False))


def _most_tied(strengths: NDArray[np.float64], most: int) -> list[int]:
    """Labels of the strongest ties."""
    shown: dict[int, None] = {}
    for tie in strongest(strengths, strengths.size):
        for label in (tie.first, tie.second):
            if len(shown) < most:
                shown.setdefault(label)
        if len(shown) == most:
            break
    return sorted(shown)


def _among(strengths: NDArray[np.float64], shown: list[int]) -> list[Tie]:
    inner = strongest(strengths[np.ix_(shown, shown)], MOST_TIES)
    return [Tie(shown[tie.first], shown[tie.second], tie.strength) for tie in inner]


def _strongest_table(
    names: list[str], learnt: NDArray[np.float64] | None, data: CoOccurrence, sure: NDArray[np.float64], unit: str
) -> Markup:
    rows = []
    for tie in strongest(sure if learnt is None else learnt, WRITTEN):
        first, second = (cut(names[label], 40) for label in (tie.first, tie.second))
        odds = data.log_odds[tie.first, tie.second]
        own = [] if learnt is None else [signed_shortly(tie.strength)]
        both = whole(round(data.both[tie.first, tie.second]))
        in_nats = learnt is None or unit == "nats"
        rows.append(
            [f"{first} – {second}", *own, signed(odds), both, _in_words(first, second, tie.strength, in_nats, learnt is None)]
        )
    own = [] if learnt is None else [f"learnt ({unit})"]
    columns = ["labels", *own, "in the data (log-odds)", "rows with both", "in words"]
    return table("The strongest ties.", columns, rows, words=(0, len(columns) - 1))


def _in_words(first: str, second: str, strength: float, in_nats: bool, of_data: bool) -> str:
    if not in_nats:
        return "the energy favours both together" if strength > 0 else "the energy keeps them apart"
    factor = math.exp(min(abs(strength), 20.0))
    times = f"{factor:.1f}" if factor < 100 else whole(round(factor))
    verb = "multiplies" if strength > 0 else "divides"
    end = "" if of_data else ", x being known"
    return f"{first} {verb} the odds of {second} by {times}{end}"
