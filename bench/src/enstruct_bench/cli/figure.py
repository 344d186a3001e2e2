"""Analyse a saved model (convergence, answers, search-error, refinement, interactions, line, measurements), train and watch
(starts, objectives, couplings), or compute on a toy (singular, sample-gradients)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jsonargparse import Namespace
from rich.console import Console
from rich.table import Table

from enstruct.cli import options as shared
from enstruct.cli.inputs import label_columns, load_model, read_rows
from enstruct.cli.outputs import add_overwrite, check_figures, check_free
from enstruct.cli.parser import Parser
from enstruct.cli.progress import EpochBar, successive_bars
from enstruct.cli.tables import say
from enstruct.data.load import load_splits
from enstruct.data.splits import imputed
from enstruct.environment import environment
from enstruct.errors import ConfigError
from enstruct.estimators import EnergyMultiLabelClassifier
from enstruct.files import write_json
from enstruct.plots.labels import measurement_matrix
from enstruct_bench.figures import (
    answers,
    convergence,
    couplings,
    interactions,
    line,
    objectives,
    refinement,
    sample_gradients,
    search_error,
    singular,
    starts,
)
from enstruct_bench.reports.analyses import flat, text

OF_A_MODEL: dict[str, Any] = {
    "convergence": convergence,
    "answers": answers,
    "search-error": search_error,
    "refinement": refinement,
    "interactions": interactions,
    "line": line,
}
OF_A_TOY: dict[str, Any] = {"singular": singular, "sample-gradients": sample_gradients}


def parser() -> Parser:
    return Parser(description=__doc__)


def add_actions(p: Parser) -> None:
    actions = p.add_subcommands(dest="action", required=True)
    for name, module in {**OF_A_MODEL, "measurements": None}.items():
        text = "SPEN's Figures 1 and 5: the measurement matrix." if module is None else (module.__doc__ or "").split("\n", 1)[0]
        command = shared.new_parser(text)
        command.add_argument("model", type=Path, help="folder written by `enstruct train`")
        shared.add_data(command)
        _add_out(command)
        actions.add_subcommand(name, command)
    curves = shared.new_parser((starts.__doc__ or "").split("\n", 1)[0])
    shared.add_data(curves)
    curves.add_argument("--every", type=int, default=1, help="epochs from one record to the next")
    curves.add_argument("--steps", type=int, default=30, help="steps of inference")
    curves.add_argument("--split_seed", type=shared.Seed, default=0)
    _add_out(curves)
    shared.add_model(curves, skip=set())
    actions.add_subcommand("starts", curves)
    pairs = shared.new_parser((objectives.__doc__ or "").split("\n", 1)[0])
    shared.add_data(pairs)
    pairs.add_argument("--seeds", type=int, default=3)
    pairs.add_argument("--split_seed", type=shared.Seed, default=0)
    _add_out(pairs)
    shared.add_model(pairs, skip={"method", "random_state"})
    actions.add_subcommand("objectives", pairs)
    timed = shared.new_parser((couplings.__doc__ or "").split("\n", 1)[0])
    shared.add_data(timed)
    timed.add_argument("--seconds", type=float, default=120.0, help="of training, for each coupling")
    timed.add_argument("--split_seed", type=shared.Seed, default=0)
    _add_out(timed)
    shared.add_model(timed, skip={"hypergradient"})
    actions.add_subcommand("couplings", timed)
    for name, module in OF_A_TOY.items():
        toy = shared.new_parser((module.__doc__ or "").split("\n", 1)[0])
        _add_out(toy)
        actions.add_subcommand(name, toy)


def _add_out(p: Parser) -> None:
    p.add_argument("--out", type=Path, default=Path("analysis"), help="folder for the figures (JSON) and the picture (PNG)")
    add_overwrite(p)


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
    model = EnergyMultiLabelClassifier(**shared.model_parameters(options), callbacks=[bar])
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
    splits = imputed(load_splits(options.data, options.split_seed, shared.label_argument(options.labels), options.drop))
    model = shared.model_parameters(options)
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
    return model, X, data.Y[:, label_columns(names, data)], names


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
