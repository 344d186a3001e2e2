"""From cells to a table: means over seeds, deviations, and differences to a reference with 95% intervals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from enstruct.metrics.base import ratio
from enstruct_bench.comparison.bootstrap import Interval, difference_over_splits, paired_difference
from enstruct_bench.comparison.quantity import Quantity, Value, mean_and_deviation
from enstruct_bench.comparison.results_file import Cell
from enstruct_bench.comparison.summary import methods_of, seeds_of
from enstruct_bench.joint.told import SHARES
from enstruct_bench.joint.wrong_cells import NOISE

Cells = Mapping[tuple[str, int], Cell]
TOLD = tuple(f"{share:g}" for share in SHARES)
PERCENT = ("f1", "exact", "average", "roc", "wrong", "found")
"""How figures begin that are printed in percent."""
PAIRED = ("nll", "exact", "f1", *(f"{what}@{share}" for what in ("f1", "loss") for share in TOLD), "questions")
PAIRED_FOUND = tuple(f"found {kind}" for kind in NOISE)
COLUMNS = {
    "nll": "NLL",
    "nll_error": "its s.e.",
    "exact": "exact",
    "f1": "F1",
    **{f"f1@{share}": f"F1 @{share}" for share in TOLD},
    "average_precision@0.5": "AP @0.5",
    "loss@0.5": "loss @0.5",
    **{f"wrong_cells@{kind}": kind for kind in NOISE},
    "questions": "asks",
    "questions_random": "random",
    "fit_seconds": "fit s",
    "answer_seconds": "answer s",
    "peak_mib": "MiB",
}
DIFFERENCES = {
    "nll": "Δ NLL",
    "exact": "Δ exact",
    "f1": "Δ F1",
    "f1@0.5": "Δ F1 @0.5",
    "loss@0.5": "Δ loss @0.5",
    **{f"found {kind}": f"Δ found {kind}" for kind in NOISE},
    "questions": "Δ asks",
}
FIGURES = (*COLUMNS, *PAIRED, *PAIRED_FOUND, *(f"average_precision@{share}" for share in TOLD))
FORMS = {"nll_error": ".3f", "loss": ".4g", "peak_mib": ".0f", "fit_seconds": ".3g", "answer_seconds": ".3g"}


def value_of(cell: Cell, figure: str) -> float | None:
    """A figure of a cell, in its own unit; None of one that it has not."""
    if figure in cell.rows:
        return ratio(cell.rows[figure])
    name, _, key = figure.partition("@")
    value = cell.record.get(name)
    value = value.get(key) if isinstance(value, dict) else value
    return None if value is None else float(value)


def factor_of(figure: str) -> float:
    return 100.0 if figure.startswith(PERCENT) else 1.0


def difference(cells: Cells, reference: str, method: str, figure: str, same_rows: bool = False) -> Interval | None:
    """Of a method to the reference over the seeds that both have the figure of. ``same_rows``: all seeds are tested on the same
    rows, as where parts were published, but for questions, whose rows each seed draws."""
    seeds = [s for s in seeds_of(cells, method) if (reference, s) in cells]
    seeds = [s for s in seeds if all(figure in cells[m, s].rows for m in (reference, method))]
    if method == reference or not seeds:
        return None
    a, b = ([cells[m, s].rows[figure] for s in seeds] for m in (reference, method))
    over = paired_difference if same_rows and not figure.startswith("questions") else difference_over_splits
    return Interval(*(factor_of(figure) * each for each in over(a, b)))


def summarise(
    cells: Cells,
    reference: str,
    figures: Sequence[str] = FIGURES,
    paired: Sequence[str] = (*PAIRED, *PAIRED_FOUND),
) -> dict[str, Any]:
    """method -> figure -> mean, deviation and seeds, and of ``paired`` ones the difference to the reference: what a results file
    says above all."""
    out: dict[str, Any] = {}
    for method in methods_of(cells):
        out[method] = {}
        for figure in dict.fromkeys(figures):
            values = _values(cells, method, figure)
            if not values:
                continue
            entry: dict[str, Any] = {**mean_and_deviation(values).as_json(), "seeds": len(values)}
            if figure in paired and (apart := difference(cells, reference, method, figure)):
                entry["difference"] = [float(f"{each:.6g}") for each in apart]
            out[method][figure] = entry
    return out


def rows_of(cells: Cells, columns: Iterable[str] = COLUMNS) -> list[list[Value]]:
    """A printed row a method."""
    return [[named(cells, method), *(_mean(cells, method, figure) for figure in columns)] for method in methods_of(cells)]


def named(cells: Cells, method: str) -> str:
    """With how many of the splits it has been run on, where others have more: its means are of other rows than theirs."""
    own, most = len(seeds_of(cells, method)), max(len(seeds_of(cells, each)) for each in methods_of(cells))
    return method if own == most else f"{method} ({own} of {most} splits)"


def differences_of(
    cells: Cells, reference: str, columns: Iterable[str] = DIFFERENCES, same_rows: bool = False
) -> list[list[Value]]:
    rows: list[list[Value]] = []
    for method in methods_of(cells):
        if method != reference:
            apart = [(figure, difference(cells, reference, method, figure, same_rows)) for figure in columns]
            rows.append([named(cells, method), *(_apart(figure, each) for figure, each in apart)])
    return rows


def _values(cells: Cells, method: str, figure: str) -> Sequence[float]:
    values = [value_of(cells[method, seed], figure) for seed in seeds_of(cells, method)]
    return [factor_of(figure) * value for value in values if value is not None]


def _mean(cells: Cells, method: str, figure: str) -> Value:
    values = _values(cells, method, figure)
    if not values:
        return "–"
    return Quantity(float(np.mean(values)), form=FORMS.get(figure.partition("@")[0], ".2f"))


def _apart(figure: str, apart: Interval | None) -> Value:
    if apart is None:
        return "–"
    form = ".3g" if figure.startswith("loss") else ".2f"
    return Quantity(apart.mean, low=apart.low, high=apart.high, form=form)
