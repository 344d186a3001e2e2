"""Few labelled references and many unlabelled ones, with a reward from written rules (the citation task).

DATA is cora, or a file of inline-tagged references of at least 250; --others adds unlabelled references (marks in them are
ignored). Prints token accuracy on 200 held-out references for each number of labelled ones, over draws, beside the published
figures. With --json, finished cells are kept, and running the command again goes on.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jsonargparse import ArgumentParser, Namespace

from enstruct.cli import options as shared
from enstruct.cli.progress import EpochBar
from enstruct.cli.tables import show
from enstruct.cli.tags_compare import add_tagger
from enstruct.comparison.environment import environment
from enstruct.comparison.light import (
    BASELINE,
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
from enstruct.comparison.results_file import Cell, ResultsFile
from enstruct.comparison.tagging import recorded
from enstruct.data.citations import read_references
from enstruct.data.fingerprint import fingerprint
from enstruct.data.tagged import TAGGED, Token, load_tagged
from enstruct.errors import ConfigError, DataError
from enstruct.estimators import EnergySequenceTagger
from enstruct.methods import get_method
from enstruct.tag_methods import TAG_METHODS


def add_options(p: ArgumentParser) -> None:
    p.add_argument("data", type=str, help="DATA: cora, or a file of inline-tagged references")
    p.add_argument("--others", type=list[str], default=[], help="files of further references, taken without their tags")
    p.add_argument(
        "--methods", type=str, default="cross-entropy,rules,ge,r-spen,sg-spen,dvn,implicit-cd", help="joined by commas"
    )
    p.add_argument("--labelled", type=list[int], default=[5, 10, 50], help="numbers of labelled references")
    p.add_argument("--draws", type=int, default=5, help="of the labelled references, each with its own seed")
    p.add_argument("--epochs", type=int, default=10, help="at most, of each stage over the unlabelled references")
    p.add_argument("--json", type=shared.json_file, default=None, help="results file; finished cells in it are not run again")
    add_tagger(p, skip={"method", "random_state", "metric", "decision", "scheme", "classes"})


def run(options: Namespace) -> None:
    methods = [name.strip() for name in options.methods.split(",") if name.strip()]
    for name in methods:
        if name != RULES:
            get_method(name, TAG_METHODS)
    if not methods or len(set(methods)) < len(methods) or options.draws < 1 or not all(n > 0 for n in options.labelled):
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
        "model": recorded(model),
    }
    setting["environment"] = environment()
    setting["content"] = fingerprint([data.sentences, data.tags, others])
    store = ResultsFile.to_add_to(options.json, setting, EnergySequenceTagger().get_params()) if options.json else None
    cells: dict[tuple[str, int], Cell] = {} if store is None else store.cells
    for draw in range(options.draws):
        for n in options.labelled:
            missing = [method for method in methods if (f"{method} @{n}", draw) not in cells]
            if missing:
                _run_draw(missing, draw_references(data, others, n, draw), draw, model, options.epochs, cells, store)
    wanted = [(f"{method} @{n}", draw) for method in methods for n in options.labelled for draw in range(options.draws)]
    rows = summarise_light({key: cells[key] for key in wanted}, options.labelled)
    _show(options, rows, setting["environment"])


def _other_files(options: Namespace) -> list[Path]:
    """Those given; for a named set, the other collections of its folder too."""
    own = TAGGED[options.data].other_files() if options.data in TAGGED else []
    return [*own, *map(Path, options.others)]


def _run_draw(
    missing: list[str],
    drawn: Draw,
    draw: int,
    model: dict[str, Any],
    epochs: int,
    cells: dict[tuple[str, int], Cell],
    store: ResultsFile | None,
) -> None:
    baseline = None
    if BASELINE in missing or any(map(needs_baseline, missing)):
        baseline = _fit(BASELINE, drawn, draw, model, epochs, None, cells, store if BASELINE in missing else None)
    for method in missing:
        if method != BASELINE:
            initial = baseline if needs_baseline(method) else None
            _fit(method, drawn, draw, model, epochs, initial, cells, store)


def _fit(
    method: str,
    drawn: Draw,
    draw: int,
    model: dict[str, Any],
    epochs: int,
    initial: EnergySequenceTagger | None,
    cells: dict[tuple[str, int], Cell],
    store: ResultsFile | None,
) -> EnergySequenceTagger | None:
    n = len(drawn.labelled)
    bar = EpochBar(f"{method}, {n} labelled, draw {draw}")
    known = [cell for (_, d), cell in cells.items() if d == draw and cell.record["row"] == method == RULES]
    try:
        if known:  # the rules read no labels: what they found for fewer or more of them holds
            record = {**known[0].record, "method": f"{method} @{n}", "labelled": n, "unlabelled": len(drawn.unlabelled)}
            cell, tagger = Cell(record, known[0].rows), None
        else:
            cell, tagger = run_light_cell(method, drawn, draw, model, epochs, initial, [bar])
    finally:
        bar.close()
    name = cell.record["method"]
    cells[name, draw] = store.run(name, draw, lambda: cell) if store else cell
    return tagger


def _show(options: Namespace, rows: list[dict[str, Any]], where: dict[str, Any]) -> None:
    title = f"{options.data}: token accuracy on {TEST} references, {options.draws} draws of the labelled ones"
    foot = f"Δ: paired difference to {rows[0]['method']}, 95% by hierarchical bootstrap over draws and references."
    show(title, light_titles(options.labelled), [formatted_light_row(row, options.labelled) for row in rows], foot, where)
