"""The table of a comparison scored by ratios of sums (:mod:`enstruct.metrics.tags`, :mod:`enstruct.metrics.masks`).

A cell's rows hold the (rows, 2) counts of the "greedy" and the "chosen" decision; its record holds their ``score``, and the
``percents`` of the method besides.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from enstruct.metrics.base import Counts
from enstruct_bench.comparison.bootstrap import paired_ratio_difference
from enstruct_bench.comparison.results_file import Cell, Kind
from enstruct_bench.comparison.summary import Paired, Rows, methods_of, seeds_of

COUNTED = ("epochs", "predictor_updates", "energy_updates", "fit_seconds", "predict_seconds")


def ratio_kind(metrics: Iterable[str], percents: Sequence[str] = ("accuracy",)) -> Kind:
    """Of cells scored by one of these metrics."""
    rules = ("greedy", "chosen")
    scores = {"metric": frozenset(metrics), "score": dict.fromkeys(rules, float), **dict.fromkeys(percents, (float, None))}
    return Kind({"decision": str, **scores, **dict.fromkeys(COUNTED, float)}, rules, counts=True)


def stacked(counts: Counts) -> Rows:
    """(rows, 2) of counts of one part."""
    return np.concatenate([counts.above, counts.below], axis=1)


def summarise_ratios(
    cells: dict[tuple[str, int], Cell], reference: str | None = None, percents: Sequence[str] = ("accuracy",)
) -> list[dict[str, Any]]:
    """One row a method, over the seeds there are of it; scores in percent, with the paired difference to ``reference`` (default:
    the first) under the chosen rule.
    """
    methods = methods_of(cells)
    return [_row(cells, method, reference or methods[0], percents) for method in methods]


def paired_ratios(a: Sequence[Rows], b: Sequence[Rows], runs: int) -> Paired:
    """As :func:`~enstruct_bench.comparison.summary.paired`, of ratios of sums: an array (rows, 2) a run."""
    left, right = (np.stack([rows.astype(np.float64) for rows in each]) for each in (a, b))
    mean, low, high = paired_ratio_difference(left, right)
    return Paired(100 * mean, 100 * low, 100 * high, len(a), runs)


def _row(cells: dict[tuple[str, int], Cell], method: str, reference: str, percents: Sequence[str]) -> dict[str, Any]:
    seeds = seeds_of(cells, method)
    records = [cells[method, seed].record for seed in seeds]
    row: dict[str, Any] = {"method": method, "seeds": len(seeds), "metric": records[0]["metric"]}
    for rule in ("greedy", "chosen"):
        row[rule] = [100 * record["score"][rule] for record in records]
    row["rules"] = ", ".join(sorted({record["decision"] for record in records}))
    for key in percents:
        known = [record[key] for record in records if record[key] is not None]
        row[key] = 100 * float(np.mean(known)) if known else None
    both = [seed for seed in seeds if (reference, seed) in cells]
    a, b = ([cells[m, seed].rows["chosen"] for seed in both] for m in (reference, method))
    row["difference"] = paired_ratios(a, b, len(seeds)) if both and method != reference else None
    for key in COUNTED:
        row[key] = float(np.mean([record[key] for record in records]))
    return row
