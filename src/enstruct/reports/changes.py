"""For tables whose rows change one thing of another row: what each change did on each data set, and what decision rules do."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from enstruct.comparison.summary import paired
from enstruct.reports.markdown import markdown_table
from enstruct.reproduce.store import Run, Store
from enstruct.reproduce.table import LabelTable

RULES = ("fixed", "threshold", "per-label", "top-k", "expected-f1", "bayes-risk", "chosen")


def changes_lines(table: LabelTable, store: Store, datasets: Sequence[str]) -> list[str]:
    """Fair runs: a line for each change, a column for each data set. Nothing for tables without changes, or without runs."""
    datasets = [name for name in datasets if any(key.dataset == name for key in store.runs)]
    if not table.changed or not datasets:
        return []
    rows = [
        [row, *(_difference(table, store, name, original, row) for name in datasets)] for row, original in table.changed.items()
    ]
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


def _of(store: Store, dataset: str, row: str) -> dict[int, Run]:
    """Seed -> run."""
    return {key.seed: run for key, run in store.runs.items() if key[:3] == (dataset, "fair", row)}


def _difference(table: LabelTable, store: Store, dataset: str, original: str, row: str) -> str:
    before, after = _of(store, dataset, original), _of(store, dataset, row)
    seeds = sorted({*before} & {*after})
    if not seeds:
        return "not run"
    a, b = ([runs[seed].rows["chosen"] for seed in seeds] for runs in (before, after))
    return f"{paired(a, b, len(seeds), table.folds)} ({len(seeds)})"


def _by_rule(table: LabelTable, store: Store, dataset: str, row: str) -> Sequence[str]:
    runs = list(_of(store, dataset, row).values())
    metric = table.metric.replace("-", "_")
    found = {rule: [100 * run.line[metric][rule] for run in runs if rule in run.line[metric]] for rule in RULES}
    scores = (f"{np.mean(values):.2f}" if values else "–" for values in found.values())
    return [dataset, row, *scores, str(len(runs))] if runs else []
