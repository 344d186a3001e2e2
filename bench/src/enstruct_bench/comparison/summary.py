"""From finished cells to the table: means over seeds, and paired differences to a reference method."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from enstruct_bench.comparison.bootstrap import paired_difference
from enstruct_bench.comparison.results_file import Cell

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
Rows = NDArray[Any]
METRIC_NAMES = {"example-f1": "F1", "hamming": "Hamming accuracy"}
WHOLE = ("predictor_updates", "energy_updates")
DIFFERENCES = {"tuned_difference": "threshold", "chosen_difference": "chosen"}


def titles(metric: str = "example-f1") -> list[str]:
    """Of the columns."""
    return [title.format(METRIC_NAMES[metric]) for title in COLUMNS.values()]


class Paired(NamedTuple):
    """A difference in percent with its 95% interval, over ``pairs`` of a row's ``runs``."""

    mean: float
    low: float
    high: float
    pairs: int
    runs: int

    def __str__(self) -> str:
        """``+1.23 [+0.45, +2.01] ¹ (2)``: of one run (over rows alone), and of fewer pairs than the row has runs."""
        alone = " ¹" if self.pairs == 1 else ""
        return interval(self[:3]) + alone + (f" ({self.pairs})" if self.pairs < self.runs else "")


def paired(a: Sequence[Rows], b: Sequence[Rows], runs: int, folds: bool = False) -> Paired:
    """Of the scores of test rows, an array a run. ``folds``: each run tested other rows, and all are one pass over them."""
    left, right = ([np.asarray(rows, dtype=np.float64) for rows in each] for each in (a, b))
    if folds:
        left, right = [np.concatenate(left)], [np.concatenate(right)]
    mean, low, high = paired_difference(np.stack(left), np.stack(right))
    return Paired(100 * mean, 100 * low, 100 * high, len(a), runs)


def mean_and_deviation(percents: Sequence[float], digits: int = 2) -> str:
    """``47.80 ±0.15``, the standard deviation of single runs; of one run ``47.80``."""
    spread = f" ±{np.std(percents, ddof=1):.{digits}f}" if len(percents) > 1 else ""
    return f"{np.mean(percents):.{digits}f}{spread}"


def methods_of(cells: Iterable[tuple[str, int]]) -> list[str]:
    """In the order in which they were run."""
    return list(dict.fromkeys(method for method, _ in cells))


def seeds_of(cells: Iterable[tuple[str, int]], method: str) -> list[int]:
    return sorted(seed for name, seed in cells if name == method)


def spread(cells: Iterable[tuple[str, int]]) -> str:
    """How many seeds the methods have: "3", or "1 to 3"."""
    numbers = [len(seeds_of(cells, method)) for method in methods_of(cells)]
    return str(numbers[0]) if min(numbers) == max(numbers) else f"{min(numbers)} to {max(numbers)}"


def summarise(
    cells: dict[tuple[str, int], Cell], reference: str | None = None, metric: str = "example-f1", folds: bool = False
) -> list[dict[str, Any]]:
    """One row a method; scores of its runs in percent; differences to ``reference`` (default: the first) with 95% intervals.

    Each over the seeds that there are of it, differences over those that both have. ``folds``: the seeds are folds of a
    cross-validation, each row tested once.
    """
    methods = methods_of(cells)
    return [_row(cells, method, reference or methods[0], metric, folds) for method in methods]


def _row(cells: dict[tuple[str, int], Cell], method: str, reference: str, metric: str, folds: bool) -> dict[str, Any]:
    records = [cells[method, seed].record for seed in seeds_of(cells, method)]

    def mean(key: str) -> float:
        return float(np.mean([record[key] for record in records]))

    row: dict[str, Any] = {"method": method, "seeds": len(records)}
    for rule in ("fixed", "threshold", "chosen"):
        row[rule] = [100 * record[metric.replace("-", "_")][rule] for record in records]
    row["rules"] = ", ".join(sorted({record["decision"] for record in records}))
    row["micro"], row["macro"] = 100 * mean("micro_f1"), 100 * mean("macro_f1")
    for key, rule in DIFFERENCES.items():
        row[key] = None if method == reference else _difference(cells, reference, method, rule, folds)
    for key in ("predictor_updates", "energy_updates", "fit_seconds", "predict_seconds"):
        row[key] = mean(key)
    return row


def _difference(cells: dict[tuple[str, int], Cell], reference: str, method: str, rule: str, folds: bool) -> Paired | None:
    seeds = seeds_of(cells, method)
    both = [seed for seed in seeds if (reference, seed) in cells]
    a, b = ([cells[m, seed].rows[rule] for seed in both] for m in (reference, method))
    return paired(a, b, len(seeds), folds) if both else None


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
        elif isinstance(value, (str, Paired)):
            out.append(str(value))
        elif isinstance(value, list):
            out.append(mean_and_deviation(value))
        elif key in whole:
            out.append(f"{value:.0f}")
        else:
            out.append(f"{value:.2f}")
    return out
