"""Options several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jsonargparse import ActionConfigFile, ArgumentParser, Namespace

from enstruct.estimators import EnergyMultiLabelClassifier

NOT_ON_THE_COMMAND_LINE = {"encoder", "energy_network", "callbacks", "hierarchy", "warm_start", "class_weight", "verbose"}


def new_parser(description: str) -> ArgumentParser:
    parser = ArgumentParser(description=description)
    parser.add_argument("--config", action=ActionConfigFile, help="YAML file with any of these options")
    return parser


def add_data(parser: ArgumentParser, what: str = "DATA") -> None:
    parser.add_argument("data", type=str, help=f"{what}: a catalogue name (see `enstruct data list`) or a .arff/.svm/.npz file")
    parser.add_argument(
        "--labels", type=str, default=None, help="ARFF: Mulan XML file, or n for the first n attributes, -n for the last n"
    )
    parser.add_argument("--drop", type=list[str], default=[], help="ARFF: attributes to leave out, as [a,b]")


def add_model(parser: ArgumentParser, skip: set[str]) -> None:
    """Every parameter of the estimator as ``--model.NAME``."""
    parser.add_class_arguments(EnergyMultiLabelClassifier, "model", skip=NOT_ON_THE_COMMAND_LINE | skip)


def label_argument(value: str | None) -> Any:
    """A number stays a number, anything else is the path of an XML file."""
    if value is None:
        return None
    try:
        return int(value)
    except ValueError:
        return Path(value)


def model_parameters(options: Namespace) -> dict[str, Any]:
    return dict(vars(options.model))
