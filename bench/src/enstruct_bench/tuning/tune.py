"""``enstruct-bench tune``: a search for settings of one method or several, on validation rows only."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from rich.console import Console
from rich.table import Table

from enstruct.cli.options import label_argument
from enstruct.cli.outputs import check_figures
from enstruct.cli.progress import successive_bars
from enstruct.cli.tables import say
from enstruct.data.load import load_splits
from enstruct.data.splits import imputed
from enstruct.environment import environment
from enstruct.errors import ConfigError
from enstruct.files import write_json
from enstruct_bench.comparison.command import Command, parameters
from enstruct_bench.comparison.fingerprint import fingerprint
from enstruct_bench.comparison.tuned_settings import TITLES, summary_row
from enstruct_bench.comparison.whereabouts import whereabouts
from enstruct_bench.tuning.searched import SEARCHED, SEARCHED_COLUMNS
from enstruct_bench.tuning.study import Task, at_work, ended, open_study, search, searched, summary

SKIPPED = {"method", "random_state", "decision", *SEARCHED}


@dataclass(frozen=True)
class Tune(Command):
    """``storage``: the journal of all trials, or a database's URL."""

    typed: ClassVar[str] = "enstruct-bench tune"

    data: str
    labels: str | None = None
    drop: list[str] = field(default_factory=list)
    methods: tuple[str, ...] = ("seal-nce",)
    trials: int = 20
    most_updates: int = 10
    storage: str | Path = "tuning.journal"
    json: Path | None = None
    overwrite: bool = False
    split_seed: int = 0
    seed: int = 0
    model: Mapping[str, Any] = field(default_factory=dict)

    def run(self) -> None:
        methods = list(self.methods)
        if not methods:
            raise ConfigError("Name at least one method.")
        fixed = parameters("labels", self.model, SKIPPED)
        if searched_too := [name for name in SEARCHED_COLUMNS if f"method__{name}" in fixed]:
            raise ConfigError(f"{', '.join(searched_too)} is searched: leave --method.{searched_too[0]} out.")
        if self.json is not None:
            check_figures(self.json, self.overwrite, {"data": str, "split_seed": int, "best": list})
        dimensions = {name: searched(name, self.most_updates) for name in methods}
        splits = imputed(load_splits(self.data, self.split_seed, label_argument(self.labels), self.drop))
        task = Task(splits, fixed.pop("metric"), fixed, self.most_updates, self.seed)
        content = fingerprint(*(matrix for part in (splits.train, splits.validation) for matrix in (part.X, part.Y)))
        about: dict[str, Any] = {"split_seed": self.split_seed, "labels": self.labels, "drop": self.drop, "seed": self.seed}
        about |= {"most_updates": self.most_updates, "fixed": fixed, "rows": [len(part) for part in splits.parts().values()]}
        about |= {"content": content, "versions": whereabouts(environment())}
        about = json.loads(json.dumps(about))
        studies: dict[str, Any] = {}
        with successive_bars() as bar:
            for name in methods:
                title = f"{Path(self.data).name}/{name}/{task.metric}"
                studies[name] = open_study(title, self.storage, about | {"searched": dimensions[name]})
                try:
                    search(name, task, studies[name], self.trials, bar)
                except KeyboardInterrupt as end:
                    end.add_note(f"trials that ended are in {self.storage}: the same command goes on with them")
                    raise
                if self.json is not None and not any(at_work(each) for each in studies.values()):
                    where = {"data": self.data, "split_seed": self.split_seed, "environment": environment()}
                    write_json(self.json, {**where, "best": _summaries(task, studies, self.trials)})
        _show(_summaries(task, studies, self.trials))
        for name, study in studies.items():
            if at_work(study):
                say(f"{name}: {at_work(study)} of {self.trials} trials are other processes' work; the last to end writes --json")


def _summaries(task: Task, studies: dict[str, Any], trials: int) -> list[dict[str, Any]]:
    """Of every method that has trials that ended; of those that have none, an error, unless others are at work on them."""
    return [summary(name, task, study, trials) for name, study in studies.items() if ended(study) or not at_work(study)]


def _show(bests: list[dict[str, Any]]) -> None:
    table = Table(*TITLES)
    for best in bests:
        table.add_row(*map(str, summary_row(best)))
    Console(width=160).print(table)
