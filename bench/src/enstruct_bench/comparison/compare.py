"""``enstruct-bench compare``: methods under one protocol, on label sets, tags or masks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import enstruct.estimators
from enstruct.cli.progress import successive_bars, working_bar
from enstruct.cli.tables import say
from enstruct.data.kinds import kind_of
from enstruct.environment import environment
from enstruct.errors import ConfigError, unknown_name
from enstruct.training.callbacks import Callback
from enstruct_bench.comparison.cells import Cells
from enstruct_bench.comparison.command import Command, parameters
from enstruct_bench.comparison.comparisons import COMPARISONS
from enstruct_bench.comparison.jobs import jobs_of, made
from enstruct_bench.comparison.printed import show
from enstruct_bench.comparison.results_file import ResultsFile
from enstruct_bench.comparison.summary import formatted, spread, summarise
from enstruct_bench.comparison.tested import RUNS, tested_rows


@dataclass(frozen=True)
class Compare(Command):
    """``task``: empty for that of the data. ``labels``, ``drop``, ``split`` and ``tuned`` are of label sets, ``columns`` and
    ``epochs`` of tags, ``protocol`` of masks."""

    typed: ClassVar[str] = "enstruct-bench compare"
    goes_on: ClassVar[bool] = True

    data: str
    labels: str | None = None
    drop: list[str] = field(default_factory=list)
    columns: list[int] = field(default_factory=list)
    tuned: str | Path | None = None
    methods: tuple[str, ...] = ()
    task: str = ""
    split: str = "auto"
    split_seed: int = 0
    protocol: str | None = None
    epochs: int = 10
    seeds: int = 3
    reference: str | None = None
    json: Path | None = None
    workers: int = 1
    model: Mapping[str, Any] = field(default_factory=dict)

    def run(self) -> None:
        comparison = COMPARISONS[self.task or kind_of(self.data) or "labels"]
        task, methods = comparison.task, list(self.methods)
        if not methods or len(set(methods)) < len(methods) or self.seeds < 1:
            raise ConfigError("Give at least one seed and distinct methods, joined by commas.")
        for name in methods:
            comparison.check(name)
        reference = self.reference or methods[0]
        if reference not in methods:
            raise unknown_name("reference", reference, methods)
        model, models = comparison.models(self, methods, parameters(task.name, self.model, {"method", "random_state"}))
        parts = comparison.read(self)
        tested = tested_rows(self.split)
        several = tested != "same"
        setting: dict[str, Any] = {"data": self.data, "split_seed": self.split_seed, "model": comparison.recorded(model)}
        setting |= {"environment": environment(), **comparison.setting(self, parts[0], model)}
        setting[task.parts] = {name: len(getattr(parts[0], name)) for name in ("train", "validation", "test")}
        defaults = getattr(enstruct.estimators, task.estimator)().get_params(deep=False)
        store = ResultsFile.to_add_to(self.json, setting, defaults, comparison.kind()) if self.json else None
        runs = RUNS[tested]
        cells = Cells(store, say, runs)
        seeds = range(len(parts) if several else self.seeds)
        if self.workers < 1:
            raise ConfigError(f"--workers must be at least 1, not {self.workers}.")
        jobs = [
            job
            for seed in seeds
            for job in jobs_of(comparison, cells.lacking(methods, seed), seed, parts, seed if several else 0, model, models)
        ]
        waiting = working_bar(f"{len(jobs)} jobs, {self.workers} workers") if self.workers > 1 else nullcontext()
        with successive_bars() as bar, waiting, cells.kept():
            watch = partial(_watch, bar, runs)
            for method, seed, cell in made(jobs, self.workers, watch, cells.lacks):
                cells.add(method, seed, cell)
        asked = cells.of(methods, seeds, reference)
        rows = [formatted(comparison, row) for row in summarise(comparison, asked, reference, tested)]
        counts = ", ".join(f"{name} {n}" for name, n in setting[task.parts].items())
        units = f"test {task.parts}"
        drawn = f"bootstrap over {units}" if tested == "folds" else f"hierarchical bootstrap over {runs}s and {units}"
        foot = f"Δ: paired difference to {reference}, 95% by {drawn}. {comparison.foot(setting)}"
        title = f"{self.data}: {spread(asked)} {runs}s, {units} ({counts})"
        show(title, comparison.titles(comparison.metric_of(asked, model)), rows, foot, setting["environment"])


def _watch(bar: Callable[[str], list[Callback]], runs: str, method: str, seed: int) -> Callback:
    return bar(f"{method} {runs} {seed}")[0]
