"""What ``enstruct-bench figure`` does; its options are declared in :mod:`enstruct_bench.cli.parsers.figure`."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from jsonargparse import Namespace
from rich.console import Console
from rich.table import Table

from enstruct.cli import options as shared
from enstruct.cli.inputs import columns, load_model, read_rows
from enstruct.cli.outputs import check_figures, check_free
from enstruct.cli.progress import EpochBar, successive_bars
from enstruct.cli.tables import say
from enstruct.data.load import load_splits
from enstruct.data.splits import imputed
from enstruct.environment import environment
from enstruct.errors import ConfigError
from enstruct.estimators import EnergyMultiLabelClassifier
from enstruct.files import write_json
from enstruct.plots.labels import measurement_matrix
from enstruct_bench.cli.parsers import figure as declared
from enstruct_bench.figures import couplings, objectives, starts
from enstruct_bench.reports.analyses import flat, text

OF_A_MODEL = {kind: import_module(f"enstruct_bench.{declared.module_of(kind)}") for kind in declared.OF_A_MODEL}
OF_A_TOY = {kind: import_module(f"enstruct_bench.{declared.module_of(kind)}") for kind in declared.OF_A_TOY}


def run(options: Namespace) -> None:
    kind, given = options.action, options[options.action]
    file, picture = _files(kind, given)
    if kind == "measurements":
        check_free([picture], given.overwrite)
    else:
        check_figures(file, given.overwrite, {"analysis": frozenset((kind,)), "environment": dict}, beside=[picture])
    if kind in OF_A_MODEL:
        _of_a_model(kind, given)
    elif kind in OF_A_TOY:
        figures = OF_A_TOY[kind].measure()
        _show(kind, figures)
        _store(kind, given, OF_A_TOY[kind], figures)
    else:
        {"starts": _starts, "objectives": _objectives, "couplings": _couplings, "measurements": _measurements}[kind](given)


def _of_a_model(kind: str, options: Namespace) -> None:
    model, X, Y, _ = _rows(options)
    module = OF_A_MODEL[kind]
    with Console(stderr=True).status(f"{kind} on {X.shape[0]} rows"):
        figures = module.measure(model, X, Y)
    _show(kind, figures)
    _store(kind, options, module, {"model": options.model.name, **figures})


def _measurements(options: Namespace) -> None:
    model, _, Y, names = _rows(options)
    _, picture = _files("measurements", options)
    measurement_matrix(model, names, Y, picture)
    say(f"picture: {picture}")


def _starts(options: Namespace) -> None:
    if options.every < 1:
        raise ConfigError(f"--every must be at least 1, not {options.every}.")
    splits = imputed(load_splits(options.data, options.split_seed, shared.label_argument(options.labels), options.drop))
    bar = EpochBar("fit")
    model = EnergyMultiLabelClassifier().set_params(**shared.model_parameters(options), callbacks=[bar])
    try:
        figures = starts.measure(
            model, splits.train.X, splits.train.Y, splits.validation.X, splits.validation.Y, options.every, options.steps
        )
    finally:
        bar.close()
    table = Table("epoch", *starts.CURVES, title=f"{figures['method']}: validation F1 at the tuned threshold")
    curve = figures["curve"]
    for record in curve[:: max(1, len(curve) // 12)]:
        table.add_row(f"{record['stage']}.{record['epoch']}", *(f"{100 * record[name]:.1f}" for name in starts.CURVES))
    Console().print(table)
    _store("starts", options, starts, {"settings": shared.model_parameters(options), **figures})


def _objectives(options: Namespace) -> None:
    if options.seeds < 1:
        raise ConfigError(f"--seeds must be at least 1, not {options.seeds}.")
    splits = imputed(load_splits(options.data, options.split_seed, shared.label_argument(options.labels), options.drop))
    model = shared.model_parameters(options)
    with successive_bars() as bar:
        figures = objectives.measure(splits, options.seeds, model, lambda method, seed: bar(f"{method} seed {seed}"))
    table = Table("objective", "energy alone", "as a loss", title=f"{options.data}: test F1, best rule, {options.seeds} seeds")
    mean = {name: 100 * sum(values) / len(values) for name, values in figures["f1"].items()}
    for objective, pair in figures["pairs"].items():
        table.add_row(objective, *(f"{mean[name]:.2f} ({name})" for name in pair))
    Console().print(table, f"{figures['baseline']}: {mean[figures['baseline']]:.2f}")
    _store("objectives", options, objectives, {"settings": model, **figures})


def _couplings(options: Namespace) -> None:
    model = shared.model_parameters(options)
    if {"method__coupling", "method__sample_gradient"} & model.keys():
        raise ConfigError("This analysis sets the coupling itself: leave --method.coupling and --method.sample_gradient out.")
    splits = imputed(load_splits(options.data, options.split_seed, shared.label_argument(options.labels), options.drop))
    train, validation = splits.train, splits.validation
    with successive_bars(endless=True) as bar:
        figures = couplings.measure(model, train.X, train.Y, validation.X, validation.Y, options.seconds, bar)
    _show("couplings", {key: value for key, value in figures.items() if key not in couplings.COUPLINGS})
    _store("couplings", options, couplings, {"settings": model, **figures})


def _rows(options: Namespace) -> tuple[EnergyMultiLabelClassifier, Any, Any, list[str]]:
    model = load_model(options.model)
    if not isinstance(model, EnergyMultiLabelClassifier):
        raise ConfigError(f"{options.model} averages several networks; an analysis looks into one: train it without --auto.")
    X, data = read_rows(model, options.data, shared.label_argument(options.labels), options.drop, labelled=True)
    names = model.notes_["label_names"]
    return model, X, data.Y[:, columns(names, data.label_names, data, "labels")], names


def _show(kind: str, figures: dict[str, Any]) -> None:
    """The plain numbers of an analysis, and a table for each curve; long lists are for the picture and the file."""
    console, table = Console(width=160), Table(title=kind, show_header=False)
    curves: list[tuple[str, list[dict[str, Any]]]] = []
    for key, value in flat(figures):
        if not isinstance(value, list):
            table.add_row(key, text(value))
        elif value and isinstance(value[0], dict):
            curves.append((key, value))
    console.print(table)
    for title, entries in curves:
        curve = Table(*entries[0], title=title)
        for entry in entries:
            curve.add_row(*map(text, entry.values()))
        console.print(curve)


def _files(kind: str, options: Namespace) -> tuple[Path, Path]:
    return options.out / f"{kind}.json", options.out / f"{kind}.png"


def _store(kind: str, options: Namespace, module: Any, figures: dict[str, Any]) -> None:
    file, picture = _files(kind, options)
    module.draw(figures, picture)
    data = {"data": Path(options.data).name} if "data" in options else {}
    where = {"analysis": kind, **data, "environment": environment()}
    write_json(file, {**where, **figures})
    say(f"figures: {file}   picture: {picture}")
