"""What ``enstruct-bench tags compare`` does; its options are declared in :mod:`enstruct_bench.cli.parsers.tags_compare`."""

from __future__ import annotations

from typing import Any

from jsonargparse import Namespace

from enstruct.cli import options as shared
from enstruct.cli.progress import EpochBar
from enstruct.cli.tables import say, show
from enstruct.data.tagged import TaggedParts, load_tagged_parts
from enstruct.environment import environment
from enstruct.errors import DivergenceError
from enstruct.estimators import EnergySequenceTagger
from enstruct.methods import get_method
from enstruct.methods.tags import TAG_METHODS
from enstruct_bench.comparison.cells import Cells
from enstruct_bench.comparison.fingerprint import fingerprint
from enstruct_bench.comparison.ratios import summarise_ratios
from enstruct_bench.comparison.results_file import Cell, ResultsFile
from enstruct_bench.comparison.tagging import (
    BASELINE,
    TAG_CELLS,
    formatted_tag_row,
    recorded,
    run_tag_cell,
    starts_from_baseline,
    tables_of,
    tag_titles,
)


def run(options: Namespace) -> None:
    methods, reference = shared.compared(options, lambda name: get_method(name, TAG_METHODS))
    parts = load_tagged_parts(options.data, options.split_seed, options.columns)
    model = shared.model_parameters(options)
    setting: dict[str, Any] = {
        "data": options.data,
        "columns": options.columns,
        "epochs": options.epochs,
        "split_seed": options.split_seed,
    }
    setting |= {"model": recorded(model), "environment": environment()}
    setting["sentences"] = {name: len(part) for name, part in vars(parts).items()}
    setting["content"] = fingerprint([[part.sentences, part.tags] for part in vars(parts).values()])
    setting["tables"] = tables_of(model)
    defaults = EnergySequenceTagger().get_params(deep=False)
    store = ResultsFile.to_add_to(options.json, setting, defaults, TAG_CELLS) if options.json else None
    cells = Cells(store, say)
    for seed in range(options.seeds):
        _run_seed(methods, parts, seed, model, options.epochs, cells)
    rows = summarise_ratios(cells.of(methods, range(options.seeds), reference), reference)
    _show(options.data, rows, reference, setting)


def _run_seed(
    methods: list[str],
    parts: TaggedParts,
    seed: int,
    model: dict[str, Any],
    epochs: int,
    cells: Cells,
) -> None:
    missing = cells.lacking(methods, seed)
    baseline = None
    if BASELINE in missing or any(starts_from_baseline(method) for method in missing):
        # trained again where only its record was kept: the same seed gives the same weights
        try:
            cell, baseline = _fit(BASELINE, parts, seed, model, None)
        except DivergenceError as error:
            cells.diverged(BASELINE, seed, error)
            missing = [method for method in missing if not starts_from_baseline(method)]
        else:
            if BASELINE in missing:
                cells.make(BASELINE, seed, lambda: cell)
    for method in missing:
        if method != BASELINE:
            goes_on = starts_from_baseline(method)
            given = {**model, "max_epochs": epochs} if goes_on else model
            initial = baseline if goes_on else None

            def work(method: str = method, given: dict[str, Any] = given, initial: Any = initial) -> Cell:
                return _fit(method, parts, seed, given, initial)[0]

            cells.make(method, seed, work)


def _fit(
    method: str, parts: TaggedParts, seed: int, model: dict[str, Any], initial: EnergySequenceTagger | None
) -> tuple[Cell, EnergySequenceTagger]:
    bar = EpochBar(f"{method} seed {seed}")
    try:
        return run_tag_cell(method, parts, seed, model, initial, [bar])
    finally:
        bar.close()


def _show(data: str, rows: list[dict[str, Any]], reference: str, setting: dict[str, Any]) -> None:
    counts = ", ".join(f"{name} {n}" for name, n in setting["sentences"].items())
    title = f"{data}: {rows[0]['seeds']} seeds, test sentences ({counts})"
    foot = (
        f"Δ: paired difference to {reference}, 95% by hierarchical bootstrap over seeds and test sentences. F/E updates and "
        "epochs of rows that start from cross-entropy are those after it."
    )
    show(title, tag_titles(rows[0]["metric"]), [formatted_tag_row(row) for row in rows], foot, setting["environment"])
