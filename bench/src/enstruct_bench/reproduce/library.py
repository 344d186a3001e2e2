"""The commands of ``enstruct`` that tables are made by, and the parts that only ``enstruct-bench costs`` measures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from jsonargparse import Namespace

from enstruct.cli import data, evaluate, train
from enstruct.cli.parsers import evaluate as evaluate_parser
from enstruct.cli.parsers import train as train_parser
from enstruct.cli.which_task import task_of_data, task_of_model
from enstruct.errors import DataError
from enstruct_bench.comparison.command import COLUMN, Command


@dataclass(frozen=True)
class Train(Command):
    """``resume``: go on from the checkpoint that an interrupted run left."""

    typed: ClassVar[str] = "enstruct train"
    output: ClassVar[str] = "out"
    makes_folder: ClassVar[bool] = True

    data: str
    labels: str | None = None
    model: Mapping[str, Any] = field(default_factory=dict)
    out: str = ""
    resume: bool = False

    def run(self) -> None:
        task = task_of_data(self.data)
        options = train_parser.parser(task).get_defaults()
        options.update(Namespace(data=self.data, out=Path(self.out), resume=self.resume))
        if task == "labels":
            options.labels = self.labels
        for name, value in self.model.items():
            options[f"method.{name.removeprefix(COLUMN)}" if name.startswith(COLUMN) else f"model.{name}"] = value
        train.run(options)


@dataclass(frozen=True)
class Pictures(Command):
    """Of a saved model and its answers to data, in the folder ``pictures``."""

    typed: ClassVar[str] = "enstruct evaluate"
    positional: ClassVar[tuple[str, ...]] = ("model", "data")
    output: ClassVar[str] = "pictures"
    makes_folder: ClassVar[bool] = True

    model: str
    data: str
    pictures: Path | None = None

    def spelled(self) -> str:
        """The folder is named where there is one."""
        return super().spelled() + (" --pictures" if self.pictures is None else "")

    def run(self) -> None:
        options = evaluate_parser.parser(task_of_model(Path(self.model))).get_defaults()
        options.update(Namespace(model=Path(self.model), data=self.data, pictures=self.pictures))
        evaluate.run(options)


@dataclass(frozen=True)
class Describe(Command):
    typed: ClassVar[str] = "enstruct data describe"

    data: str
    json: Path | None = None

    def run(self) -> None:
        chosen = Namespace(data=self.data, json=self.json, split_seed=0, labels=None, drop=[], overwrite=False)
        data.run(Namespace(action="describe", describe=chosen))


@dataclass(frozen=True)
class Synthetic(Command):
    """SPEN's block-exclusive rows, in the file ``out``."""

    typed: ClassVar[str] = "enstruct data synthetic"
    positional: ClassVar[tuple[str, ...]] = ("out",)
    output: ClassVar[str] = "out"

    out: str
    rows: int = 1500
    seed: int = 0

    def run(self) -> None:
        chosen = Namespace(out=Path(self.out), rows=self.rows, seed=self.seed, overwrite=False)
        data.run(Namespace(action="synthetic", synthetic=chosen))


@dataclass(frozen=True)
class Measured(Command):
    """Figures that ``enstruct-bench costs --measure`` leaves, on an idle machine."""

    typed: ClassVar[str] = "enstruct-bench costs --measure"
    positional: ClassVar[tuple[str, ...]] = ()

    def run(self) -> None:
        raise DataError("These figures are made by `enstruct-bench costs --measure`, on an idle machine.")
