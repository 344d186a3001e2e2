"""What ``enstruct-bench compare`` does; its options are declared in :mod:`enstruct_bench.cli.parsers.compare`."""

from __future__ import annotations

from typing import Any

from jsonargparse import Namespace

import enstruct.estimators
from enstruct.cli import options as shared
from enstruct.cli.progress import EpochBar
from enstruct.cli.tables import say
from enstruct.environment import environment
from enstruct.errors import DivergenceError
from enstruct_bench.cli.comparing import compared, show
from enstruct_bench.comparison.cells import Cells
from enstruct_bench.comparison.comparisons import COMPARISONS
from enstruct_bench.comparison.results_file import Cell, ResultsFile
from enstruct_bench.comparison.run import fitted_cell
from enstruct_bench.comparison.summary import formatted, spread, summarise


def run(options: Namespace) -> None:
    comparison = COMPARISONS[options.task]
    task = comparison.task
    methods, reference = compared(options, comparison.check)
    model, models = comparison.models(options, methods, shared.model_parameters(options))
    parts = comparison.read(options)
    folds = len(parts) > 1
    setting: dict[str, Any] = {"data": options.data, "split_seed": options.split_seed, "model": comparison.recorded(model)}
    setting |= {"environment": environment(), **comparison.setting(options, parts[0], model)}
    setting[task.parts] = {name: len(getattr(parts[0], name)) for name in ("train", "validation", "test")}
    defaults = getattr(enstruct.estimators, task.estimator)().get_params(deep=False)
    store = ResultsFile.to_add_to(options.json, setting, defaults, comparison.kind()) if options.json else None
    runs = "fold" if folds else "seed"
    cells = Cells(store, say, runs)
    seeds = range(len(parts) if folds else options.seeds)

    def fitted(method: str, seed: int, initial: Any = None) -> tuple[Cell, Any]:
        bar = EpochBar(f"{method} {runs} {seed}")
        try:
            rows = parts[seed if folds else 0]
            return fitted_cell(comparison, method, rows, seed, models.get(method, model), [bar], initial)
        finally:
            bar.close()

    for seed in seeds:
        lacking, initial = cells.lacking(methods, seed), None
        first = comparison.first(lacking)
        if first is not None:
            # trained again where only its record was kept: the same seed gives the same weights
            try:
                cell, initial = fitted(first, seed)
            except DivergenceError as error:
                cells.diverged(first, seed, error)
                lacking = [method for method in lacking if not comparison.goes_on(method)]
            else:
                if first in lacking:
                    cells.make(first, seed, lambda cell=cell: cell)  # type: ignore[misc]
        for method in lacking:
            if method != first:
                start = initial if comparison.goes_on(method) else None
                cells.make(method, seed, lambda m=method, s=seed, start=start: fitted(m, s, start)[0])  # type: ignore[misc]
    asked = cells.of(methods, seeds, reference)
    rows = [formatted(comparison, row) for row in summarise(comparison, asked, reference, folds)]
    counts = ", ".join(f"{name} {n}" for name, n in setting[task.parts].items())
    units = f"test {task.parts}"
    drawn = f"bootstrap over {units}" if folds else f"hierarchical bootstrap over seeds and {units}"
    foot = f"Δ: paired difference to {reference}, 95% by {drawn}. {comparison.foot(setting)}"
    title = f"{options.data}: {spread(asked)} {runs}s, {units} ({counts})"
    show(title, comparison.titles(comparison.metric_of(asked, model)), rows, foot, setting["environment"])
