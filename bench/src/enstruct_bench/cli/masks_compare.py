"""What ``enstruct-bench masks compare`` does; its options are declared in :mod:`enstruct_bench.cli.parsers.masks_compare`."""

from __future__ import annotations

from typing import Any

from jsonargparse import Namespace

from enstruct.cli import options as shared
from enstruct.cli.progress import successive_bars
from enstruct.cli.tables import say, show
from enstruct.data.image_folders import load_picture_parts
from enstruct.environment import environment
from enstruct.errors import unknown_name
from enstruct.estimators import EnergySegmenter
from enstruct.methods import get_method
from enstruct.methods.masks import MASK_METHODS
from enstruct_bench.comparison.cells import Cells
from enstruct_bench.comparison.fingerprint import fingerprint
from enstruct_bench.comparison.masks import (
    MASK_CELLS,
    PERCENTS,
    PROTOCOLS,
    formatted_mask_row,
    leaked,
    mask_titles,
    run_mask_cell,
)
from enstruct_bench.comparison.ratios import summarise_ratios
from enstruct_bench.comparison.results_file import Cell, ResultsFile


def run(options: Namespace) -> None:
    methods, reference = shared.compared(options, lambda name: get_method(name, MASK_METHODS))
    parts = load_picture_parts(options.data, options.split_seed)
    model = shared.model_parameters(options)
    if options.protocol is not None:
        if options.protocol not in PROTOCOLS:
            raise unknown_name("protocol", options.protocol, PROTOCOLS)
        model |= PROTOCOLS[options.protocol]
    setting: dict[str, Any] = {"data": options.data, "split_seed": options.split_seed, "model": model}
    setting |= {"environment": environment(), "duplicates": leaked(parts)}
    setting["images"] = {name: len(part) for name, part in vars(parts).items()}
    pictures = (array for part in vars(parts).values() for array in (*part.images, *part.truth()))
    setting["content"] = fingerprint(*pictures)
    defaults = EnergySegmenter().get_params(deep=False)
    store = ResultsFile.to_add_to(options.json, setting, defaults, MASK_CELLS) if options.json else None
    cells = Cells(store, say)
    with successive_bars() as bar:
        for seed in range(options.seeds):
            for method in cells.lacking(methods, seed):

                def work(method: str = method, seed: int = seed) -> Cell:
                    return run_mask_cell(method, parts, seed, model, bar(f"{method} seed {seed}"), setting["duplicates"])

                cells.make(method, seed, work)
    rows = summarise_ratios(cells.of(methods, range(options.seeds), reference), reference, PERCENTS)
    _show(options.data, rows, reference, setting)


def _show(data: str, rows: list[dict[str, Any]], reference: str, setting: dict[str, Any]) -> None:
    counts = ", ".join(f"{name} {n}" for name, n in setting["images"].items())
    title = f"{data}: {rows[0]['seeds']} seeds, test images ({counts})"
    foot = (
        f"Δ: paired difference to {reference}, 95% by hierarchical bootstrap over seeds and test images. Near-duplicates of "
        f"training or validation images among the test images: {', '.join(setting['duplicates']) or 'none'}."
    )
    show(title, mask_titles(rows[0]["metric"]), [formatted_mask_row(row) for row in rows], foot, setting["environment"])
