"""Compare methods on one data set: same split, same budget, same stopping rule, same decision rules.

Prints per method the example-F1 at 0.5, at the tuned threshold and under the decision rule chosen on
validation rows, and paired differences to the first method (or --reference) with 95% intervals. With --json, every finished
cell is kept, and running the command again goes on where it stopped.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jsonargparse import ArgumentParser, Namespace
from rich.console import Console
from rich.table import Table

from enstruct.cli import options as shared
from enstruct.cli.progress import EpochBar
from enstruct.comparison.run import Cell, ResultsFile, environment, imputed, run_cell
from enstruct.comparison.summary import COLUMNS, formatted, summarise
from enstruct.data.load import load_splits
from enstruct.errors import ConfigError, unknown_name
from enstruct.methods import get_method


def parser() -> ArgumentParser:
    p = shared.new_parser(__doc__ or "")
    shared.add_data(p)
    p.add_argument("--methods", type=str, default="binary-relevance,cross-entropy,seal-nce", help="names joined by commas")
    p.add_argument("--seeds", type=int, default=3, help="number of seeds, 0 .. N-1")
    p.add_argument("--reference", type=str, default=None, help="method the differences are to (default: the first)")
    p.add_argument("--split_seed", type=int, default=0, help="seed of the 60/20/20 split (all seeds share the split)")
    p.add_argument("--json", type=Path, default=None, help="results file; finished cells in it are not run again")
    shared.add_model(p, skip={"method", "random_state"})
    return p


def run(options: Namespace) -> None:
    methods = [name.strip() for name in options.methods.split(",") if name.strip()]
    if not methods or len(set(methods)) < len(methods) or options.seeds < 1:
        raise ConfigError("Give at least one seed and distinct methods, joined by commas.")
    for name in methods:
        get_method(name)
    reference = options.reference or methods[0]
    if reference not in methods:
        raise unknown_name("reference", reference, methods)
    model = shared.model_parameters(options)
    splits = load_splits(options.data, options.split_seed, shared.label_argument(options.labels), options.drop)
    setting = {"data": options.data, "split_seed": options.split_seed, "model": model, "environment": environment()}
    setting["rows"] = {name: len(part) for name, part in splits.parts().items()}
    splits = imputed(splits)
    store = ResultsFile(options.json, setting) if options.json else None
    cells: dict[tuple[str, int], Cell] = {} if store is None else store.cells
    console = Console(width=200)
    for seed in range(options.seeds):
        for method in methods:
            bar = EpochBar(f"{method} seed {seed}")

            def work(method: str = method, seed: int = seed, bar: EpochBar = bar) -> Cell:
                return run_cell(method, splits, seed, model, [bar])

            try:
                cells[method, seed] = store.run(method, seed, work) if store else work()
            finally:
                bar.close()
    rows = summarise(cells, methods, range(options.seeds), reference)
    if store is not None:
        store.write(summarise(cells, methods, range(options.seeds)))
    console.print(_table(options, rows, setting))
    console.print(_foot(reference, setting), highlight=False, soft_wrap=True)


def _table(options: Namespace, rows: list[dict[str, Any]], setting: dict[str, Any]) -> Table:
    parts = ", ".join(f"{name} {n}" for name, n in setting["rows"].items())
    table = Table(title=f"{options.data}: example-F1 on test rows, {options.seeds} seeds ({parts})")
    for key, title in COLUMNS.items():
        table.add_column(title, justify="left" if key in ("method", "rules") else "right")
    for row in rows:
        table.add_row(*formatted(row))
    return table


def _foot(reference: str, setting: dict[str, Any]) -> str:
    where = setting["environment"]
    return (
        f"Δ: paired difference to {reference}, 95% by hierarchical bootstrap over seeds and test rows. "
        f"F/E updates: optimiser steps of predictor and energy. enstruct {where['enstruct']}, torch {where['torch']}, "
        f"{where['threads']} threads."
    )
