"""What a cell of the papers' tables says: the mean of a row's runs, or why there is none."""

from __future__ import annotations

from collections.abc import Sequence

from enstruct_bench.comparison.quantity import Value, mean_and_deviation
from enstruct_bench.reproduce.runner import outdated
from enstruct_bench.reproduce.store import Run, Store
from enstruct_bench.reproduce.table import LabelTable

NOT_RUN, DIVERGED = "not run", "diverged"


def runs_of(store: Store, dataset: str, protocol: str, row: str) -> list[Run]:
    """In the order of their seeds."""
    same = [run for key, run in store.runs.items() if key[:3] == (dataset, protocol, row)]
    return sorted(same, key=lambda run: int(run.line["seed"]))


def diverged_of(store: Store, dataset: str, protocol: str, row: str) -> list[Run]:
    return [run for key, run in store.diverged.items() if key[:3] == (dataset, protocol, row)]


def score(table: LabelTable, store: Store, dataset: str, protocol: str, row: str, rule: str) -> Value:
    """Mean of the table's metric under a decision rule, in percent, with its deviation; ² as :func:`mark` says."""
    runs, lost = runs_of(store, dataset, protocol, row), diverged_of(store, dataset, protocol, row)
    if not runs:
        return DIVERGED if lost else NOT_RUN
    metric = table.metric.replace("-", "_")
    by_rule = [run.line.get(metric, {}) for run in runs]
    values = [100 * scores[rule] for scores in by_rule if rule in scores]
    if not values:
        return "–"
    return mean_and_deviation(values).noted((f" ({len(lost)} {DIVERGED})" if lost else "") + mark(table, runs))


def mark(table: LabelTable, runs: Sequence[Run]) -> str:
    """`` ²`` where runs were made with other settings than are declared by now."""
    return " ²" if any(outdated(table, run) for run in runs) else ""
