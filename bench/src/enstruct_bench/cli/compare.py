"""What ``enstruct-bench compare`` does; its options are declared in :mod:`enstruct_bench.cli.parsers.compare`."""

from __future__ import annotations

from jsonargparse import Namespace

from enstruct.cli import options as shared
from enstruct.cli.progress import EpochBar
from enstruct.cli.tables import say, show
from enstruct.data.load import load_protocol
from enstruct.environment import environment
from enstruct.estimators import EnergyMultiLabelClassifier
from enstruct_bench.comparison.cells import Cells
from enstruct_bench.comparison.fingerprint import fingerprint_of
from enstruct_bench.comparison.results_file import Cell, ResultsFile
from enstruct_bench.comparison.run import check_method, label_kind, run_cell, scored_by
from enstruct_bench.comparison.summary import formatted, summarise, titles
from enstruct_bench.tuning.tuned_settings import Tuned


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
    defaults = EnergyMultiLabelClassifier().get_params(deep=False)
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
