"""What ``enstruct-bench list`` does; its options are declared in :mod:`enstruct_bench.cli.parsers.list_tables`."""

from __future__ import annotations

from pathlib import Path

from jsonargparse import Namespace
from rich.console import Console
from rich.table import Table as Grid

from enstruct.errors import DataError
from enstruct_bench.reports.summaries import FOLDER, read_summary
from enstruct_bench.reproduce.commands import finished, made_elsewhere
from enstruct_bench.reproduce.store import Store
from enstruct_bench.reproduce.table import LabelTable
from enstruct_bench.reproduce.tables import TABLES


def run(options: Namespace) -> None:
    results = options.results
    grid = Grid("table", "what", "published as", "data sets or parts", "finished runs")
    for table in TABLES.values():
        if isinstance(table, LabelTable):
            parts = ", ".join(table.datasets)
            done = _finished(results, table)
        else:
            parts = ", ".join(table.parts) or "absent: " + ", ".join(table.absent)
            done = ", ".join(_told(results.parent, part) for part in table.parts if finished(results.parent, part)) or "–"
        grid.add_row(table.name, table.title, table.published_as, parts, done)
    Console(width=200).print(grid)


def _told(results: Path, part: str) -> str:
    return part + (" (on another machine or version)" if made_elsewhere(results, part) else "")


def _finished(results: Path, table: LabelTable) -> str:
    """How many runs, and how many of other places, or, where none is at hand, of how many the summary is. A damaged file does not
    keep the other tables from being listed."""
    try:
        summary = results.parent / FOLDER / f"reproduce-{table.name}.json"
        if summary.is_file() and not (results / f"{table.name}.jsonl").is_file():
            return f"{read_summary(summary)['from']['runs']} (their summary)"
        store = Store(results, table.name)
        return str(len(store.runs)) + (f" ({len(store.elsewhere)} kept apart)" if store.elsewhere else "")
    except DataError as error:
        return f"damaged: {error}"
