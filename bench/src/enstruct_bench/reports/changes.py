"""For tables whose rows change one thing of another row: what each change did on each data set, and what decision rules do."""

from __future__ import annotations

from collections.abc import Sequence

from enstruct_bench.comparison.quantity import Value
from enstruct_bench.comparison.summary import paired
from enstruct_bench.reports.cells import DIVERGED, NOT_RUN, diverged_of, mark, runs_of, score
from enstruct_bench.reports.markdown import markdown_table
from enstruct_bench.reproduce.store import Store
from enstruct_bench.reproduce.table import LabelTable

RULES = ("fixed", "threshold", "scaled", "per-label", "top-k", "expected-f1", "bayes-risk", "chosen")


def changes_lines(table: LabelTable, store: Store, datasets: Sequence[str]) -> list[str]:
    """Fair runs: a line for each change, a column for each data set. Nothing for tables without changes, or runs of any."""
    datasets = [name for name in datasets if any(key.dataset == name for key in store.runs)]
    if not table.changed or not datasets:
        return []
    rows: list[list[Value]] = [
        [row, *(_difference(table, store, name, original, row) for name in datasets)] for row, original in table.changed.items()
    ]
    if all(cell == NOT_RUN for row in rows for cell in row[1:]):
        return []
    originals = list(dict.fromkeys(table.changed.values()))
    rules = [line for name in datasets for row in originals if (line := _by_rule(table, store, name, row))]
    return [
        "Each change against the row it is a change of, each under its best rule, over the seeds that both have (number):",
        "",
        *markdown_table(["change", *datasets], rows),
        "What the decision rules make of the same marginals, mean over runs:",
        "",
        *markdown_table(["data", "method", *RULES, "runs"], rules),
    ]


def _difference(table: LabelTable, store: Store, dataset: str, original: str, row: str) -> Value:
    before, after = ({run.key.seed: run for run in runs_of(store, dataset, "fair", each)} for each in (original, row))
    seeds = sorted({*before} & {*after})
    if not seeds:
        return DIVERGED if any(diverged_of(store, dataset, "fair", each) for each in (original, row)) else NOT_RUN
    a, b = ([runs[seed] for seed in seeds] for runs in (before, after))
    difference = paired([run.rows["chosen"] for run in a], [run.rows["chosen"] for run in b], len(seeds), table.tested)
    return difference.quantity().noted(f" ({len(seeds)}){mark(table, [*a, *b])}")


def _by_rule(table: LabelTable, store: Store, dataset: str, row: str) -> Sequence[Value]:
    runs = runs_of(store, dataset, "fair", row)
    scores = (score(table, store, dataset, "fair", row, rule) for rule in RULES)
    return [dataset, row, *scores, len(runs)] if runs else []
