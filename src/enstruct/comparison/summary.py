"""From finished cells to the table: means over seeds, and paired differences to a reference method."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from enstruct.comparison.bootstrap import paired_difference
from enstruct.comparison.run import Cell

COLUMNS = {
    "method": "method",
    "fixed": "{} @0.5",
    "threshold": "{} tuned",
    "chosen": "{} best rule",
    "rules": "rule",
    "micro": "micro",
    "macro": "macro",
    "tuned_difference": "Δ tuned [95%]",
    "chosen_difference": "Δ best rule [95%]",
    "predictor_updates": "F updates",
    "energy_updates": "E updates",
    "fit_seconds": "fit s",
    "predict_seconds": "predict s",
}
METRIC_NAMES = {"example-f1": "F1", "hamming": "Hamming accuracy"}


WHOLE = ("predictor_updates", "energy_updates")
DIFFERENCES = {"tuned_difference": "threshold", "chosen_difference": "chosen"}


def titles(metric: str = "example-f1") -> list[str]:
    """Of the columns."""
    return [title.format(METRIC_NAMES[metric]) for title in COLUMNS.values()]


def summarise(
    cells: dict[tuple[str, int], Cell],
    methods: Sequence[str],
    seeds: Sequence[int],
    reference: str | None = None,
    metric: str = "example-f1",
    folds: bool = False,
) -> list[dict[str, Any]]:
    """One row a method; scores in percent, differences to ``reference`` (default ``methods[0]``) with 95% intervals.

    ``folds``: the seeds are folds of a cross-validation, each row tested once.
    """
    return [_row(cells, method, reference or methods[0], seeds, metric, folds) for method in methods]


def _row(
    cells: dict[tuple[str, int], Cell], method: str, reference: str, seeds: Sequence[int], metric: str, folds: bool
) -> dict[str, Any]:
    records = [cells[method, seed].record for seed in seeds]

    def mean(key: str) -> float:
        return float(np.mean([record[key] for record in records]))

    row: dict[str, Any] = {"method": method, "seeds": len(seeds)}
    for rule in ("fixed", "threshold", "chosen"):
        values = [100 * record[metric.replace("-", "_")][rule] for record in records]
        row[rule], row[f"{rule}_sd"] = float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
    row["rules"] = ", ".join(sorted({record["decision"] for record in records}))
    row["micro"], row["macro"] = 100 * mean("micro_f1"), 100 * mean("macro_f1")
    for key, rule in DIFFERENCES.items():
        row[key] = None if method == reference else [100 * v for v in _difference(cells, reference, method, rule, seeds, folds)]
    for key in ("predictor_updates", "energy_updates", "fit_seconds", "predict_seconds"):
        row[key] = mean(key)
    return row


def _difference(
    cells: dict[tuple[str, int], Cell], reference: str, method: str, rule: str, seeds: Sequence[int], folds: bool
) -> Any:
    a, b = ([cells[m, seed].rows[rule].astype(np.float64) for seed in seeds] for m in (reference, method))
    if folds:  # one pass over the rows
        return paired_difference(np.concatenate(a)[None], np.concatenate(b)[None])
    return paired_difference(np.stack(a), np.stack(b))


def interval(difference: Sequence[float]) -> str:
    """``+1.23 [+0.45, +2.01]``."""
    return "{:+.2f} [{:+.2f}, {:+.2f}]".format(*difference)


def formatted(row: dict[str, Any], columns: Iterable[str] = COLUMNS, whole: Sequence[str] = WHOLE) -> list[str]:
    """The cells of a printed row, in the order of ``columns``; those named in ``whole`` without decimals."""
    out = []
    for key in columns:
        value = row[key]
        if value is None:
            out.append("–")
        elif isinstance(value, str):
            out.append(value)
        elif isinstance(value, list):
            out.append(interval(value))
        elif key in whole:
            out.append(f"{value:.0f}")
        elif f"{key}_sd" in row:
            out.append(f"{value:.2f} ±{row[key + '_sd']:.2f}")
        else:
            out.append(f"{value:.2f}")
    return out
