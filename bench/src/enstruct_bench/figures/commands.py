"""``enstruct-bench figure``: analyses of a saved model, of training, and of toys. Each writes its figures and a picture."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

from rich.console import Console
from rich.table import Table

from enstruct.cli.inputs import columns, load_model, read_rows
from enstruct.cli.options import label_argument
from enstruct.cli.outputs import check_figures
from enstruct.cli.progress import EpochBar, successive_bars
from enstruct.cli.tables import say
from enstruct.data.load import load_splits
from enstruct.data.splits import Splits, imputed
from enstruct.environment import environment
from enstruct.errors import ConfigError
from enstruct.estimators.network_classifier import NetworkClassifier
from enstruct.files import write_json
from enstruct_bench.comparison.command import Command, parameters
from enstruct_bench.figures import couplings, objectives, starts
from enstruct_bench.figures.plain import flat, value_of


@dataclass(frozen=True, kw_only=True)
class Figure(Command):
    """``out``: the folder that KIND.json and KIND.png are written in."""

    output: ClassVar[str] = "out"
    makes_folder: ClassVar[bool] = True

    out: Path = Path("analysis")
    overwrite: bool = False

    @property
    @abstractmethod
    def kind(self) -> str:
        """The name of the analysis."""

    @property
    def file(self) -> Path:
        return self.out / f"{self.kind}.json"

    @property
    def picture(self) -> Path:
        return self.out / f"{self.kind}.png"

    def check(self) -> None:
        """ConfigError for files that are not of this command."""
        shape = {"analysis": frozenset((self.kind,)), "environment": dict}
        check_figures(self.file, self.overwrite, shape, beside=[self.picture])

    def store(self, module: Any, figures: dict[str, Any]) -> None:
        """Draw and write what ``module.measure`` gave."""
        module.draw(figures, self.picture)
        data = {"data": Path(self.data).name} if hasattr(self, "data") else {}
        where = {"analysis": self.kind, **data, "environment": environment()}
        write_json(self.file, {**where, **figures})
        say(f"figures: {self.file}   picture: {self.picture}")


@dataclass(frozen=True)
class OfAModel(Figure):
    """One of the analyses of a model's folder; ``analysis`` is its name."""

    typed: ClassVar[str] = "enstruct-bench figure"
    positional: ClassVar[tuple[str, ...]] = ("analysis", "model", "data")

    analysis: str
    model: str | Path
    data: str
    labels: str | None = None
    drop: list[str] = field(default_factory=list)

    @property
    def kind(self) -> str:
        return self.analysis

    def run(self) -> None:
        self.check()
        model, X, Y = self.rows()
        module = module_of(self.kind)
        with Console(stderr=True).status(f"{self.kind} on {X.shape[0]} rows"):
            figures = module.measure(model, X, Y)
        _show(self.kind, figures)
        self.store(module, {"model": Path(self.model).name, **figures})

    def rows(self) -> tuple[NetworkClassifier, Any, Any]:
        """The model, features and label sets of the rows."""
        model = load_model(Path(self.model))
        if not isinstance(model, NetworkClassifier):
            raise ConfigError(f"{self.model} averages several networks; an analysis looks into one: train it without --auto.")
        X, data = read_rows(model, self.data, label_argument(self.labels), self.drop, labelled=True)
        names = model.notes_["label_names"]
        return model, X, data.Y[:, columns(names, data.label_names, data, "labels")]


@dataclass(frozen=True)
class OfTraining(Figure):
    """What trains on a data set, and watches."""

    data: str
    labels: str | None = None
    drop: list[str] = field(default_factory=list)
    split_seed: int = 0
    model: Mapping[str, Any] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        return self.typed.split()[-1]

    def splits(self) -> Splits:
        return imputed(load_splits(self.data, self.split_seed, label_argument(self.labels), self.drop))


@dataclass(frozen=True)
class Starts(OfTraining):
    """``every``: epochs from one record to the next. ``steps``: of inference."""

    typed: ClassVar[str] = "enstruct-bench figure starts"

    every: int = 1
    steps: int = 30

    def run(self) -> None:
        self.check()
        if self.every < 1:
            raise ConfigError(f"--every must be at least 1, not {self.every}.")
        settings, splits, bar = parameters("labels", self.model), self.splits(), EpochBar("fit")
        train, validation = splits.train, splits.validation
        model = NetworkClassifier().set_params(**settings, callbacks=[bar])
        try:
            figures = starts.measure(model, train.X, train.Y, validation.X, validation.Y, self.every, self.steps)
        finally:
            bar.close()
        table = Table("epoch", *starts.CURVES, title=f"{figures['method']}: validation F1 at the tuned threshold")
        curve = figures["curve"]
        for record in curve[:: max(1, len(curve) // 12)]:
            table.add_row(f"{record['stage']}.{record['epoch']}", *(f"{100 * record[name]:.1f}" for name in starts.CURVES))
        Console().print(table)
        self.store(starts, {"settings": settings, **figures})


@dataclass(frozen=True)
class Objectives(OfTraining):
    typed: ClassVar[str] = "enstruct-bench figure objectives"

    seeds: int = 3

    def run(self) -> None:
        self.check()
        if self.seeds < 1:
            raise ConfigError(f"--seeds must be at least 1, not {self.seeds}.")
        splits, settings = self.splits(), parameters("labels", self.model, {"method", "random_state"})
        with successive_bars() as bar:
            figures = objectives.measure(splits, self.seeds, settings, lambda method, seed: bar(f"{method} seed {seed}"))
        title = f"{self.data}: test F1, best rule, {self.seeds} seeds"
        table = Table("objective", "energy alone", "as a loss", title=title)
        mean = {name: 100 * sum(values) / len(values) for name, values in figures["f1"].items()}
        for objective, pair in figures["pairs"].items():
            table.add_row(objective, *(f"{mean[name]:.2f} ({name})" for name in pair))
        Console().print(table, f"{figures['baseline']}: {mean[figures['baseline']]:.2f}")
        self.store(objectives, {"settings": settings, **figures})


@dataclass(frozen=True)
class Couplings(OfTraining):
    """``seconds``: of training, for each coupling."""

    typed: ClassVar[str] = "enstruct-bench figure couplings"

    seconds: float = 120.0

    def run(self) -> None:
        self.check()
        settings = parameters("labels", self.model)
        if {"method__coupling", "method__sample_gradient"} & settings.keys():
            raise ConfigError("This analysis sets the coupling itself: leave --method.coupling and --method.sample_gradient out.")
        splits = self.splits()
        train, validation = splits.train, splits.validation
        with successive_bars(endless=True) as bar:
            figures = couplings.measure(settings, train.X, train.Y, validation.X, validation.Y, self.seconds, bar)
        _show("couplings", {key: value for key, value in figures.items() if key not in couplings.COUPLINGS})
        self.store(couplings, {"settings": settings, **figures})


@dataclass(frozen=True)
class OfAToy(Figure):
    """Computed on a toy; ``analysis`` is its name."""

    typed: ClassVar[str] = "enstruct-bench figure"
    positional: ClassVar[tuple[str, ...]] = ("analysis",)

    analysis: str

    @property
    def kind(self) -> str:
        return self.analysis

    def run(self) -> None:
        self.check()
        module = module_of(self.kind)
        figures = module.measure()
        _show(self.kind, figures)
        self.store(module, figures)


def module_of(kind: str) -> Any:
    """The module that measures and draws an analysis."""
    return import_module(f"enstruct_bench.figures.{kind.replace('-', '_')}")


def _show(kind: str, figures: dict[str, Any]) -> None:
    """The plain numbers of an analysis, and a table for each curve; long lists are for the picture and the file."""
    console, table = Console(width=160), Table(title=kind, show_header=False)
    curves: list[tuple[str, list[dict[str, Any]]]] = []
    for key, value in flat(figures):
        if not isinstance(value, list):
            table.add_row(key, str(value_of(value)))
        elif value and isinstance(value[0], dict):
            curves.append((key, value))
    console.print(table)
    for title, entries in curves:
        curve = Table(*entries[0], title=title)
        for entry in entries:
            curve.add_row(*(str(value_of(value)) for value in entry.values()))
        console.print(curve)
