"""Options several commands share."""

from __future__ import annotations

from argparse import ArgumentTypeError
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jsonargparse import ActionConfigFile, Namespace
from jsonargparse.typing import restricted_number_type

from enstruct.cli.parser import Parser
from enstruct.cli.signatures import class_of
from enstruct.errors import ConfigError, unknown_name

Seed = restricted_number_type("Seed", int, [(">=", 0), ("<", 2**32)], docstring="Such as every generator takes.")
NOT_ON_THE_COMMAND_LINE = {
    "encoder",
    "energy_network",
    "inference",
    "callbacks",
    "hierarchy",
    "warm_start",
    "class_weight",
    "verbose",
}


class Reader:
    """A type of options by the function that reads it; help shows its name."""

    def __init__(self, name: str, read: Callable[[Any], Any]) -> None:
        self.name, self.read = name, read

    def __call__(self, value: Any) -> Any:
        return self.read(value)

    def __repr__(self) -> str:
        return self.name


def new_parser(description: str) -> Parser:
    parser = Parser(description=description)
    parser.add_argument("--config", action=ActionConfigFile, help="YAML file with any of these options")
    return parser


def add_data(parser: Parser) -> None:
    parser.add_argument("data", type=str, help="DATA: a catalogue name (see `enstruct data list`) or a .csv/.arff/.svm/.npz file")
    parser.add_argument(
        "--labels",
        type=str,
        default=None,
        help="CSV, ARFF: n for the first n columns, -n for the last n; CSV: names of 0/1 columns joined by commas, or one column "
        "of names separated by ; or |; ARFF: Mulan XML file",
    )
    parser.add_argument("--drop", type=list[str], default=[], help="CSV, ARFF: columns to leave out, as [a,b]")


def add_model(parser: Parser, skip: set[str]) -> None:
    """Every parameter of the estimator as ``--model.NAME``."""
    classifier = class_of("enstruct", "estimators.multilabel", "EnergyMultiLabelClassifier")
    parser.add_class_arguments(classifier, "model", skip=NOT_ON_THE_COMMAND_LINE | skip)


def _joined(names: Any) -> str:
    """Names joined by commas, as they are typed, or a list of them, as YAML has it."""
    return ",".join(map(str, names)) if isinstance(names, list) else str(names)


joined = Reader("names", _joined)


def _json_file(name: str) -> Path:
    """Of files that are written over: a slip may not name one of the user's data."""
    if Path(name).suffix != ".json":
        raise ArgumentTypeError(f"{name!r}: results are written as JSON, so name it FILE.json")
    return Path(name)


json_file = Reader("FILE.json", _json_file)


def label_argument(value: str | None) -> Any:
    """A number stays a number, anything else is names of columns or the path of an XML file."""
    if value is None:
        return None
    try:
        return int(value)
    except ValueError:
        return value


def compared(options: Namespace, check: Callable[[str], object]) -> tuple[list[str], str]:
    """(methods, reference) of a comparison; ``check`` objects to a name that is no method. ConfigError."""
    methods = [name.strip() for name in options.methods.split(",") if name.strip()]
    if not methods or len(set(methods)) < len(methods) or options.seeds < 1:
        raise ConfigError("Give at least one seed and distinct methods, joined by commas.")
    for name in methods:
        check(name)
    reference = options.reference or methods[0]
    if reference not in methods:
        raise unknown_name("reference", reference, methods)
    return methods, reference


def model_parameters(options: Namespace) -> dict[str, Any]:
    """What is given, without the parser's own notes, as of the file that it comes from (``__path__``)."""
    return {name: value for name, value in vars(options.model).items() if not name.startswith("__")}
