"""What ``enstruct-bench light`` does; its options are declared in :mod:`enstruct_bench.cli.parsers.light`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from jsonargparse import Namespace

from enstruct.cli import options as shared
from enstruct.cli.progress import EpochBar
from enstruct.cli.tables import say
from enstruct.data.catalogue import data_root
from enstruct.data.citations import read_references
from enstruct.data.tagged import Token, load_tagged
from enstruct.environment import environment
from enstruct.errors import ConfigError, DataError, DivergenceError
from enstruct.estimators import EnergySequenceTagger
from enstruct.methods import get_method
from enstruct.methods.tags import TAG_METHODS
from enstruct_bench.cli.comparing import show
from enstruct_bench.comparison.cells import Cells
from enstruct_bench.comparison.fingerprint import fingerprint
from enstruct_bench.comparison.light import (
    LIGHT_CELLS,
    RULES,
    TEST,
    Draw,
    draw_references,
    formatted_light_row,
    light_titles,
    needs_baseline,
    run_light_cell,
    summarise_light,
)
from enstruct_bench.comparison.results_file import Cell, ResultsFile
from enstruct_bench.comparison.tag_comparison import BASELINE, TAG_COMPARISON, tables_of


def run(options: Namespace) -> None:
    methods = [name.strip() for name in options.methods.split(",") if name.strip()]
    for name in methods:
        if name != RULES:
            get_method(name, TAG_METHODS)
    if not methods or len(set(methods)) < len(methods) or options.draws < 1 or min(options.labelled, default=0) < 1:
        raise ConfigError("Give distinct methods, joined by commas, at least one draw and positive numbers of labels.")
    data = load_tagged(options.data, "full")
    if len(data) < TEST + max(options.labelled):
        raise DataError(
            f"{options.data} has {len(data)} references: too few for {TEST} in the test and {max(options.labelled)} with labels."
        )
    others: list[list[Token]] = [list(words) for path in _other_files(options) for words in read_references(path)]
    model = {**shared.model_parameters(options), "metric": "accuracy"}
    setting = {
        "data": options.data,
        "others": [path.name for path in _other_files(options)],
        "labelled": options.labelled,
        "epochs": options.epochs,
        "model": TAG_COMPARISON.recorded(model),
    }
    setting["environment"] = environment()
    setting["content"] = fingerprint([data.sentences, data.tags, others])
    setting["tables"] = tables_of(model)
    defaults = EnergySequenceTagger().get_params(deep=False)
    store = ResultsFile.to_add_to(options.json, setting, defaults, LIGHT_CELLS) if options.json else None
    cells = Cells(store, say, "draw")
    for draw in range(options.draws):
        for n in options.labelled:
            missing = [method for method in methods if cells.lacking([f"{method} @{n}"], draw)]
            if missing:
                _run_draw(missing, draw_references(data, others, n, draw), draw, model, options.epochs, cells)
    names = [f"{method} @{n}" for method in methods for n in options.labelled]
    references = names[: len(options.labelled)]  # the first method's
    rows = summarise_light(cells.of(names, range(options.draws), *references), options.labelled)
    _show(options, rows, setting["environment"])


def _other_files(options: Namespace) -> list[Path]:
    """Those given; for a named set, the other collections of its folder too."""
    root = data_root()
    beside = sorted(root.glob("citations/parscit/*.tagged.txt")) if root is not None and options.data == "cora" else []
    return [*(path for path in beside if path.name != "cora.tagged.txt"), *map(Path, options.others)]


def _run_draw(
    missing: list[str],
    drawn: Draw,
    draw: int,
    model: dict[str, Any],
    epochs: int,
    cells: Cells,
) -> None:
    """What diverges is said and left out, and with the baseline what starts from it."""
    baseline = None
    if BASELINE in missing or any(map(needs_baseline, missing)):
        try:
            cell, baseline = _fit(BASELINE, drawn, draw, model, epochs, None)
        except DivergenceError as error:
            cells.diverged(f"{BASELINE} @{len(drawn.labelled)}", draw, error)
            missing = [method for method in missing if not needs_baseline(method)]
        else:
            cells.make(cell.record["method"], draw, lambda: cell)  # not where it was trained again, its record being kept
    for method in missing:
        if method != BASELINE:
            initial = baseline if needs_baseline(method) else None
            name = f"{method} @{len(drawn.labelled)}"
            cells.make(name, draw, partial(_work, method, drawn, draw, model, epochs, initial, cells))


def _work(
    method: str,
    drawn: Draw,
    draw: int,
    model: dict[str, Any],
    epochs: int,
    initial: EnergySequenceTagger | None,
    cells: Cells,
) -> Cell:
    known = [cell for (_, d), cell in cells.found.items() if d == draw and cell.record["row"] == method == RULES]
    if known:  # the rules read no labels: what they found for fewer or more of them holds
        n = len(drawn.labelled)
        record = {**known[0].record, "method": f"{method} @{n}", "labelled": n, "unlabelled": len(drawn.unlabelled)}
        return Cell(record, known[0].rows)
    return _fit(method, drawn, draw, model, epochs, initial)[0]


def _fit(
    method: str,
    drawn: Draw,
    draw: int,
    model: dict[str, Any],
    epochs: int,
    initial: EnergySequenceTagger | None,
) -> tuple[Cell, EnergySequenceTagger | None]:
    bar = EpochBar(f"{method}, {len(drawn.labelled)} labelled, draw {draw}")
    try:
        return run_light_cell(method, drawn, draw, model, epochs, initial, [bar])
    finally:
        bar.close()


def _show(options: Namespace, rows: list[dict[str, Any]], where: dict[str, Any]) -> None:
    title = f"{options.data}: token accuracy on {TEST} references, {options.draws} draws of the labelled ones"
    foot = f"Δ: paired difference to {rows[0]['method']}, 95% by hierarchical bootstrap over draws and references."
    show(title, light_titles(options.labelled), [formatted_light_row(row, options.labelled) for row in rows], foot, where)
