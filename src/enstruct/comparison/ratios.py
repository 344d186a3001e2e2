"""The table of a comparison scored by ratios of sums (:mod:`enstruct.tag_metrics`, :mod:`enstruct.mask_metrics`).

A cell's rows hold the (rows, 2) counts of the "greedy" and the "chosen" decision; its record holds their ``score``, and the
``percents`` of the method besides.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from enstruct.comparison.bootstrap import paired_ratio_difference
from enstruct.comparison.run import Cell

COUNTED = ("epochs", "predictor_updates", "energy_updates", "fit_seconds", "predict_seconds")


def summarise_ratios(
    cells: dict[tuple[str, int], Cell],
    methods: Sequence[str],
    seeds: Sequence[int],
    reference: str,
    percents: Sequence[str] = ("accuracy",),
) -> list[dict[str, Any]]:
    """One row a method; scores in percent, with the paired difference to ``reference`` under the chosen rule."""
    return [_row(cells, method, seeds, reference, percents) for method in methods]


def _row(
    cells: dict[tuple[str, int], Cell], method: str, seeds: Sequence[int], reference: str, percents: Sequence[str]
) -> dict[str, Any]:
    records = [cells[method, seed].record for seed in seeds]
    row: dict[str, Any] = {"method": method, "seeds": len(seeds), "metric": records[0]["metric"]}
    for rule in ("greedy", "chosen"):
        values = [100 * record["score"][rule] for record in records]
        row[rule], row[f"{rule}_sd"] = float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
    row["rules"] = ", ".join(sorted({record["decision"] for record in records}))
    for key in percents:
        known = [record[key] for record in records if record[key] is not None]
        row[key] = 100 * float(np.mean(known)) if known else None
    row["difference"] = None
    if method != reference:
        a, b = (np.stack([cells[m, seed].rows["chosen"] for seed in seeds]).astype(np.float64) for m in (reference, method))
        row["difference"] = [100 * v for v in paired_ratio_difference(a, b)]
    for key in COUNTED:
        row[key] = float(np.mean([record[key] for record in records]))
    return row
