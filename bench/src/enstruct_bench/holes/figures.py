"""What one side is measured by, in one cell: log-loss, micro average precision and macro area under ROC of observed test cells,
with nothing told and, of the other half, with half of each row's observed cells told."""

from __future__ import annotations

import time

import numpy as np

from enstruct.metrics import Counts
from enstruct.metrics.base import ratio
from enstruct_bench.comparison.results_file import Cell
from enstruct_bench.holes.counted import average_precision, roc_auc
from enstruct_bench.holes.sides import Side, fitted
from enstruct_bench.holes.table import half_told
from enstruct_bench.joint.fitted_estimators import Estimators
from enstruct_bench.joint.peak import peak_mib, reset_peak
from enstruct_bench.joint.table import Array, Table
from enstruct_bench.joint.told import cell_losses, nothing_told


def measured(key: str, name: str, estimators: Estimators) -> Cell:
    """The cell of a side and a seed, which files keep by the name ``key``."""
    reset_peak()
    cell = Cell({"method": key, "seed": estimators.seed}, {})
    side = fitted(name, estimators)
    cell.record |= {"fit_seconds": side.seconds, **side.notes, "labels": estimators.table.n_labels}
    count(side, estimators.table, estimators.seed, cell)
    cell.record["score"] = {figure: ratio(counts) for figure, counts in cell.rows.items()}
    cell.record["peak_mib"] = peak_mib()
    return cell


def count(side: Side, table: Table, seed: int, cell: Cell) -> None:
    """What each test row counts, by its observed cells that are not told."""
    Y = table.Y_test
    for share, known in {"0": nothing_told(*Y.shape), "0.5": half_told(Y, seed)}.items():
        begin = time.perf_counter()
        p = np.asarray(side.answer(table.X_test, known), dtype=np.float64)
        cell.record[f"answer_seconds_{share}"] = time.perf_counter() - begin
        asked = asked_cells(Y, known)
        cell.rows[f"loss@{share}"] = Counts.of((cell_losses(p, Y) * asked).sum(1), asked.sum(1))
        cell.rows[f"average_precision@{share}"] = average_precision(p, Y, asked)
        cell.rows[f"roc_auc@{share}"] = roc_auc(p, Y, asked)


def asked_cells(Y: Array, known: Array) -> Array:
    """(rows, labels) those that were observed and are not told."""
    return ~np.isnan(Y) & np.isnan(known)
