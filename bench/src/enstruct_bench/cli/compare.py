"""Compare methods on one data set: same split, same budget, same stopping rule, same decision rules.

Prints per method the example-F1 (with --model.metric hamming: the Hamming accuracy) at 0.5, at the tuned threshold and under
the decision rule chosen on validation rows, and paired differences to the first method (or --reference) with 95% intervals.
The method "auto" chooses and averages on these validation rows; "auto-folds" is given training and validation rows together, as
`enstruct train --auto` is; "auto:cross-entropy" and "auto-folds:cross-entropy" average that method alone.
With --split K-fold each fold stands for a seed. With --json, every finished cell is kept, and running the command again goes
on where it stopped. A run that diverges is said to, and the others go on.
"""

from __future__ import annotations

from pathlib import Path

from jsonargparse import Namespace

from enstruct.cli import options as shared
from enstruct.cli.parser import Parser
from enstruct.cli.progress import EpochBar
from enstruct.cli.tables import say, show
from enstruct.cli.tuned import Tuned
from enstruct.data.fingerprint import fingerprint_of
from enstruct.data.load import load_protocol
from enstruct.environment import environment
from enstruct.estimators import EnergyMultiLabelClassifier
from enstruct_bench.comparison.cells import Cells
from enstruct_bench.comparison.results_file import Cell, ResultsFile
from enstruct_bench.comparison.run import check_method, label_kind, run_cell, scored_by
from enstruct_bench.comparison.summary import formatted, summarise, titles


def parser() -> Parser:
    p = shared.new_parser(__doc__ or "")
    shared.add_data(p)
    usual = "binary-relevance,extra-trees,cross-entropy,seal-nce"
    p.add_argument("--methods", type=shared.joined, default=usual, help="names joined by commas")
    p.add_argument("--seeds", type=int, default=3, help="number of seeds, 0 .. N-1")
    p.add_argument("--reference", type=str, default=None, help="method the differences are to (default: the first)")
    p.add_argument("--split_seed", type=shared.Seed, default=0, help="seed of the 60/20/20 split (all seeds share the split)")
    p.add_argument(
        "--split", type=str, default="auto", help="auto (60/20/20, or three parts as published), published (train/test), K-fold"
    )
    p.add_argument("--tuned", type=Path, default=None, help="settings of each method, as `enstruct-bench tune --json` wrote them")
    p.add_argument("--json", type=shared.json_file, default=None, help="results file; finished cells in it are not run again")
    shared.add_model(p, skip={"method", "random_state"})
    return p


def run(options: Namespace) -> None:
    methods, reference = shared.compared(options, check_method)
    model = shared.model_parameters(options)
    tuned = None if options.tuned is None else Tuned.read(options.tuned, model["metric"])
    model = model if tuned is None else tuned.shared(model)
    if tuned is not None:
        tuned.check_equal(methods)
    models = {name: model if tuned is None else tuned.of(name, model) for name in methods}
    protocol = load_protocol(options.data, options.split, options.split_seed, shared.label_argument(options.labels), options.drop)
    setting = {"data": options.data, "split_seed": options.split_seed, "model": model, "environment": environment()}
    setting["rows"] = {name: len(part) for name, part in protocol[0].parts().items()}
    setting["content"] = fingerprint_of(protocol[0])
    if tuned is not None:
        setting["tuned"] = tuned.written
    if options.split != "auto":
        setting["split"] = options.split
    folds, metric = len(protocol) > 1, scored_by(model)
    seeds = range(len(protocol) if folds else options.seeds)
    defaults = EnergyMultiLabelClassifier().get_params()
    store = ResultsFile.to_add_to(options.json, setting, defaults, label_kind(model)) if options.json else None
    cells = Cells(store, say, "fold" if folds else "seed")
    for seed in seeds:
        for method in cells.lacking(methods, seed):
            bar = EpochBar(f"{method} {'fold' if folds else 'seed'} {seed}")

            def work(method: str = method, seed: int = seed, bar: EpochBar = bar) -> Cell:
                return run_cell(method, protocol[seed if folds else 0], seed, models[method], [bar])

            try:
                cells.make(method, seed, work)
            finally:
                bar.close()
    rows = summarise(cells.of(methods, seeds, reference), reference, metric, folds)
    counts = ", ".join(f"{name} {n}" for name, n in setting["rows"].items())
    title = f"{options.data}: {len(seeds)} {'folds' if folds else 'seeds'}, test rows ({counts})"
    drawn = "by bootstrap over test rows" if folds else "by hierarchical bootstrap over seeds and test rows"
    foot = f"Δ: paired difference to {reference}, 95% {drawn}. F/E updates: optimiser steps of predictor and energy."
    show(title, titles(metric), [formatted(row) for row in rows], foot, setting["environment"])
