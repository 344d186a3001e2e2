"""The section on scores: under each decision rule, with intervals, and what holds whatever the rule."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from enstruct.metrics import Counts
from enstruct.metrics.intervals import DRAWS, SHARES, Counted, Interval, intervals, weights
from enstruct.metrics.labels import SURE, observed_cells
from enstruct.report.blocks import figure, paragraph, plain, ranged, share, table
from enstruct.report.markup import Markup
from enstruct.report.page import Section
from enstruct.report.subject import Subject
from enstruct.report.whiskers import Whisker, whiskers

MOST_CELLS = 2**17
"""Cells of which the average precision is drawn again and again."""
BLOCK_CELLS = 2**20


def scores_section(
    subject: Subject, parts: str, whatever: Mapping[str, Interval], extra: list[Markup] | None = None, drawn: str | None = None
) -> Section:
    """``parts``: what rows are called; ``whatever``: figures that hold whatever the rule, those with "log" in their name in nats;
    ``drawn``: the metric that is drawn, by default the first."""
    counted = {
        (rule, metric): Counted(counts, subject.empties[metric])
        for rule, metrics in subject.counts.items()
        for metric, counts in metrics.items()
    }
    found = intervals(counted, subject.seed)
    rules, metrics = list(subject.counts), list(next(iter(subject.counts.values()), {}))
    rows = [[rule + (" (in force)" if rule == subject.rule else ""), *(_cell(found[rule, m]) for m in metrics)] for rule in rules]
    chosen = [i for i, rule in enumerate(rules) if rule == subject.rule]
    blocks = [
        paragraph(
            f"In percent, with intervals of 95% by {DRAWS:,} draws of the {parts} with replacement. All rules answer the same "
            "draws."
        ),
        table("Scores under each decision rule.", ["rule", *metrics], rows, chosen=chosen),
    ]
    if len(rules) > 1 and metrics:
        drawn = metrics[0] if drawn is None or drawn not in metrics else drawn
        of_rules = []
        for rule in rules:
            value, low, high = (100 * end for end in found[rule, drawn])
            of_rules.append(Whisker(rule, value, low, high, chosen=rule == subject.rule))
        blocks.append(figure(whiskers("rules", f"{drawn} by rule", of_rules, "%"), f"{drawn} by rule, with intervals of 95%."))
    if whatever:
        told = [[name, _number(name, one.value), _range(name, one)] for name, one in whatever.items()]
        blocks.append(table("What holds whatever the rule.", ["figure", "value", "interval of 95%"], told))
    return Section("scores", "Scores", [*blocks, *(extra or [])])


def _cell(one: Interval) -> Markup | str:
    return share(one.value) if np.isnan(one.low) else ranged(share(one.value), share(one.low), share(one.high))


def _number(name: str, value: float) -> str:
    return plain(value, 4) if "log" in name else "–" if np.isnan(value) else f"{share(value, 2)}%"


def _range(name: str, one: Interval) -> str:
    return "–" if np.isnan(one.low) else f"{_number(name, one.low)} – {_number(name, one.high)}"


def label_intervals(truth: Any, p: NDArray[np.float64], seed: int) -> dict[str, Interval]:
    """Average precision, calibration error and log-loss of marginals (rows, labels); the first without an interval where there
    are more than ``MOST_CELLS`` cells."""
    counted = {"calibration error": calibration_counts(truth, p), "log-loss (nats a cell)": log_loss_counts(truth, p)}
    return {"average precision": precision_interval(truth, p, seed), **intervals(counted, seed)}


def row_blocks(shape: tuple[int, int]) -> list[slice]:
    """Of tables that are looked at some rows at a time."""
    step = max(1, BLOCK_CELLS // max(1, shape[1]))
    return [slice(start, start + step) for start in range(0, shape[0], step)]


def dense_block(truth: Any, rows: slice) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """(rows, labels) what is there, and what is known."""
    if sparse.issparse(truth):
        there = truth[rows].toarray().astype(bool)
        return there, np.ones(there.shape, dtype=bool)
    known = ~np.isnan(truth[rows])
    return np.nan_to_num(truth[rows]).astype(bool), known


def calibration_counts(truth: Any, p: NDArray[np.float64], bins: int = 15) -> Counted:
    """Of each row and bin the sum of p less the labels that are there, over the row's known cells: their sum over rows has the
    calibration error as its absolute values' sum."""
    above, below = np.zeros((len(p), bins)), np.zeros((len(p), 1))
    for rows in row_blocks(p.shape):
        there, known = dense_block(truth, rows)
        which = np.minimum((p[rows] * bins).astype(np.int64), bins - 1) + bins * np.arange(len(there))[:, None]
        gap = np.bincount(which[known], (p[rows] - there)[known], bins * len(there))
        above[rows], below[rows, 0] = gap.reshape(len(there), bins), known.sum(1)
    return Counted(Counts(above, below), apart=False)


def log_loss_counts(truth: Any, p: NDArray[np.float64]) -> Counted:
    """Nats of each row, over its known cells."""
    nats, cells = row_nats(truth, p)
    return Counted(Counts.of(nats, cells), empty=float("nan"))


def row_nats(truth: Any, p: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(rows,) the sum of -log p of the values that known cells have, and how many these are."""
    nats, cells = np.zeros(len(p)), np.zeros(len(p))
    for rows in row_blocks(p.shape):
        there, known = dense_block(truth, rows)
        sure = np.clip(p[rows], SURE, 1 - SURE)
        nats[rows] = np.where(known, -np.log(np.where(there, sure, 1 - sure)), 0.0).sum(1)
        cells[rows] = known.sum(1)
    return nats, cells


def precision_interval(truth: Any, p: NDArray[np.float64], seed: int, draws: int = DRAWS) -> Interval:
    """The mean over labels that occur of the area under the precision-recall curve, in each draw of rows."""
    from enstruct.metrics import average_precision

    value = average_precision(truth, p)
    if p.size > MOST_CELLS or len(p) < 2 or np.isnan(value):
        return Interval(value, np.nan, np.nan)
    observed = observed_cells(truth)
    y = (truth.toarray() if sparse.issparse(truth) else np.nan_to_num(truth)).astype(np.float64)
    scores = []
    for weight in weights(len(p), draws, seed):
        areas = np.full((len(weight), p.shape[1]), np.nan)
        for label in range(p.shape[1]):
            rows = np.arange(len(p)) if observed is None else np.flatnonzero(observed[:, label])
            areas[:, label] = _areas(p[rows, label], y[rows, label], weight[:, rows])
        with np.errstate(invalid="ignore"):
            occurring = ~np.isnan(areas)
            scores.append(np.where(occurring, areas, 0).sum(1) / occurring.sum(1))
    low, high = np.nanquantile(np.concatenate(scores), SHARES)
    return Interval(value, float(low), float(high))


def _areas(p: NDArray[np.float64], y: NDArray[np.float64], weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """(draws,) average precision of one label whose rows count ``weight`` (draws, rows) times; NaN where it does not occur."""
    order = np.argsort(-p, kind="stable")
    ends = np.flatnonzero(np.diff(p[order], append=-1.0))  # the last of the rows of one probability
    chosen = np.cumsum(weight[:, order], axis=1)[:, ends]
    right = np.cumsum(weight[:, order] * y[order], axis=1)[:, ends]
    precision = np.divide(right, chosen, out=np.zeros_like(right), where=chosen > 0)
    total = right[:, -1] if right.shape[1] else np.zeros(len(weight))
    gained = np.diff(right, axis=1, prepend=0.0)
    return np.divide((gained * precision).sum(1), total, out=np.full(len(weight), np.nan), where=total > 0)
