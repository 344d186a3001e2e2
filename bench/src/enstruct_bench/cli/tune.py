"""What ``enstruct-bench tune`` does; its options are declared in :mod:`enstruct_bench.cli.parsers.tune`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from jsonargparse import Namespace
from rich.console import Console
from rich.table import Table

from enstruct.cli import options as shared
from enstruct.cli.outputs import check_figures
from enstruct.cli.progress import successive_bars
from enstruct.cli.tables import say
from enstruct.data.load import load_splits
from enstruct.data.splits import imputed
from enstruct.environment import environment
from enstruct.errors import ConfigError
from enstruct.files import write_json
from enstruct_bench.cli.parsers.tune import SEARCHED_COLUMNS
from enstruct_bench.comparison.fingerprint import fingerprint
from enstruct_bench.comparison.tuned_settings import TITLES, summary_row
from enstruct_bench.reproduce.store import whereabouts
from enstruct_bench.tuning.study import Task, at_work, ended, open_study, search, searched, summary


def run(options: Namespace) -> None:
    methods = [name.strip() for name in options.methods.split(",") if name.strip()]
    if not methods:
        raise ConfigError("Name at least one method.")
    fixed = shared.model_parameters(options)
    if searched_too := [name for name in SEARCHED_COLUMNS if f"method__{name}" in fixed]:
        raise ConfigError(f"{', '.join(searched_too)} is searched: leave --method.{searched_too[0]} out.")
    if options.json is not None:
        check_figures(options.json, options.overwrite, {"data": str, "split_seed": int, "best": list})
    dimensions = {name: searched(name, options.most_updates) for name in methods}
    splits = imputed(load_splits(options.data, options.split_seed, shared.label_argument(options.labels), options.drop))
    task = Task(splits, fixed.pop("metric"), fixed, options.most_updates, options.seed)
    content = fingerprint(*(matrix for part in (splits.train, splits.validation) for matrix in (part.X, part.Y)))
    about = {"split_seed": options.split_seed, "labels": options.labels, "drop": options.drop, "seed": options.seed}
    about |= {"most_updates": options.most_updates, "fixed": fixed, "rows": [len(part) for part in splits.parts().values()]}
    about |= {"content": content, "versions": whereabouts(environment())}
    about = json.loads(json.dumps(about))
    studies: dict[str, Any] = {}
    with successive_bars() as bar:
        for name in methods:
            title = f"{Path(options.data).name}/{name}/{task.metric}"
            studies[name] = open_study(title, options.storage, about | {"searched": dimensions[name]})
            try:
                search(name, task, studies[name], options.trials, bar)
            except KeyboardInterrupt as end:
                end.add_note(f"trials that ended are in {options.storage}: the same command goes on with them")
                raise
            if options.json is not None and not any(at_work(each) for each in studies.values()):
                _write(options, _summaries(task, studies, options.trials))
    found = _summaries(task, studies, options.trials)
    _show(found)
    for name, study in studies.items():
        if at_work(study):
            say(f"{name}: {at_work(study)} of {options.trials} trials are other processes' work; the last to end writes --json")


def _summaries(task: Task, studies: dict[str, Any], trials: int) -> list[dict[str, Any]]:
    """Of every method that has trials that ended; of those that have none, an error, unless others are at work on them."""
    return [summary(name, task, study, trials) for name, study in studies.items() if ended(study) or not at_work(study)]


def _write(options: Namespace, found: list[dict[str, Any]]) -> None:
    content = {"data": options.data, "split_seed": options.split_seed, "environment": environment(), "best": found}
    write_json(options.json, content)


def _show(found: list[dict[str, Any]]) -> None:
    table = Table(*TITLES)
    for best in found:
        table.add_row(*summary_row(best))
    Console(width=160).print(table)
