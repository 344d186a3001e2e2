"""From finished cells to the table: means over seeds, and paired differences to a reference method."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from enstruct.metrics.base import Counts, ratio
from enstruct_bench.comparison.bootstrap import Interval, difference_over_splits, paired_difference
from enstruct_bench.comparison.comparison import Comparison
from enstruct_bench.comparison.quantity import Quantity, Value, mean_and_deviation
from enstruct_bench.comparison.results_file import Cell
from enstruct_bench.comparison.tested import Tested


class Paired(NamedTuple):
    """A difference in percent with its 95% interval, over ``pairs`` of a row's ``runs``."""

    mean: float
    low: float
    high: float
    pairs: int
    runs: int

    def quantity(self) -> Quantity:
        """``+1.23 [+0.45, +2.01] ¹ (2)``: of one run (over rows alone), and of fewer pairs than the row has runs."""
        alone, fewer = " ¹" if self.pairs == 1 else "", f" ({self.pairs})" if self.pairs < self.runs else ""
        return Quantity(self.mean, low=self.low, high=self.high, note=alone + fewer)

    def __str__(self) -> str:
        return str(self.quantity())


def paired(a: Sequence[Counts], b: Sequence[Counts], runs: int, tested: Tested = "same") -> Paired:
    """Of what test rows count, one a run."""
    mean, low, high = _interval(a, b, tested)
    return Paired(100 * mean, 100 * low, 100 * high, len(a), runs)


def _interval(a: Sequence[Counts], b: Sequence[Counts], tested: Tested) -> Interval:
    if tested == "splits":
        return difference_over_splits(a, b)
    if tested == "folds":  # one pass over the rows
        a, b = [Counts.joined(a)], [Counts.joined(b)]
    return paired_difference(a, b)


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
    comparison: Comparison, cells: dict[tuple[str, int], Cell], reference: str | None = None, tested: Tested = "same"
) -> list[dict[str, Any]]:
    """One row a method; scores of its runs in percent; differences to ``reference`` (default: the first) with 95% intervals.

    Each over the seeds that there are of it, differences over those that both have.
    """
    methods = methods_of(cells)
    return [_row(comparison, cells, method, reference or methods[0], tested) for method in methods]


def _row(
    comparison: Comparison, cells: dict[tuple[str, int], Cell], method: str, reference: str, tested: Tested
) -> dict[str, Any]:
    own = [cells[method, seed] for seed in seeds_of(cells, method)]
    row: dict[str, Any] = {"method": method, "seeds": len(own)}
    for rule in comparison.rules:
        row[rule] = [100 * ratio(cell.rows[rule]) for cell in own]
    row["rules"] = ", ".join(sorted({cell.record["decision"] for cell in own}))
    for key in comparison.shares:
        known = [cell.record[key] for cell in own if cell.record[key] is not None]
        row[key] = 100 * float(np.mean(known)) if known else None
    for key, rule in comparison.differences.items():
        row[key] = difference(cells, reference, method, rule, tested)
    for key in comparison.counted:
        row[key] = float(np.mean([cell.record[key] for cell in own]))
    return row


def difference(
    cells: dict[tuple[str, int], Cell], reference: str, method: str, rule: str, tested: Tested = "same"
) -> Paired | None:
    """Of a method to the reference, over the seeds that both have; None to itself, and where they have none in common."""
    seeds = seeds_of(cells, method)
    both = [seed for seed in seeds if (reference, seed) in cells]
    if method == reference or not both:
        return None
    a, b = ([cells[m, seed].rows[rule] for seed in both] for m in (reference, method))
    return paired(a, b, len(seeds), tested)


def formatted(comparison: Comparison, row: dict[str, Any]) -> list[Value]:
    """The cells of a printed row, in the order of the columns."""
    out: list[Value] = []
    for key in comparison.columns:
        value = row[key]
        if value is None:
            out.append("–")
        elif isinstance(value, str):
            out.append(value)
        elif isinstance(value, Paired):
            out.append(value.quantity())
        elif isinstance(value, list):
            out.append(mean_and_deviation(value))
        else:
            out.append(Quantity(value, form=".0f" if key in comparison.whole else ".2f"))
    return out
