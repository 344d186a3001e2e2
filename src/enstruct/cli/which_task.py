"""What kind of output a command is about, which its options depend on: read from its words, before torch is there."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import yaml

from enstruct.cli.options import ESTIMATORS
from enstruct.cli.parser import read_options
from enstruct.data.kinds import SETS, kind_of
from enstruct.errors import ConfigError, DatasetNotFoundError, ModelFileError, shown, unknown_name
from enstruct.workplaces import recover

PLACES = {"train": ("data",), "predict": ("model", "data"), "evaluate": ("model", "data"), "report": ("model", "data")}
"""Commands whose options depend on the kind of output -> their positional arguments."""
USUAL = "labels"
"""What options are shown of where nothing tells."""


def task_of(words: Sequence[str]) -> str:
    """By --task, DATA or the model; ConfigError, DatasetNotFoundError and ModelFileError where none can be told by them."""
    command, *rest = words or [""]
    told = _told(rest, PLACES.get(command, ()))
    if command == "train" and "task" in told:
        if told["task"] not in ESTIMATORS:
            raise unknown_name("task", told["task"], ESTIMATORS)
        return told["task"]
    if command == "train" and "data" in told and not {"-h", "--help"} & {*rest}:
        return task_of_data(told["data"])
    if command in PLACES and command != "train" and "model" in told:
        return task_of_model(Path(told["model"]))
    return USUAL


def task_of_data(data: str) -> str:
    """By its name; ConfigError, or DatasetNotFoundError where there is nothing of that name, where it does not tell."""
    task = kind_of(data)
    if task is not None:
        return task
    where = shown(data, 100)
    if Path(data).is_dir():
        raise ConfigError(f"The folder {where} holds no data: no .txt or .parquet files, images (images/, masks/), layout.json.")
    if Path(data).exists():
        raise ConfigError(f"The ending of {where} does not tell what it holds: add --task labels, --task tags or --task masks.")
    hint = unknown_name("data set", data, (name for sets in SETS.values() for name in sets))
    raise DatasetNotFoundError(f"There is no file or folder {where}. {hint}")


def task_of_model(folder: Path) -> str:
    """By what its folder says of itself. ModelFileError."""
    if not folder.exists():
        recover(folder.resolve())  # a killed saver's
    if any((folder / name).is_file() for name in ("auto.json", "joint.json")):
        return "labels"
    if not (folder / "model.json").is_file():
        raise ModelFileError(f"{folder} is not an enstruct model folder: it has no model.json.")
    try:
        estimator = json.loads((folder / "model.json").read_bytes())["estimator"]
        return next(task for task, (_, name) in ESTIMATORS.items() if name == estimator)
    except (OSError, ValueError, RecursionError, TypeError, LookupError, StopIteration) as error:
        raise ModelFileError(f"{folder / 'model.json'} is damaged, or was not written by enstruct.") from error


def _told(words: Sequence[str], places: Sequence[str]) -> Mapping[str, str]:
    """Values of options and of positional arguments: every option takes the next word, unless that is one itself."""
    told: dict[str, str] = {}
    files: dict[str, str] = {}
    option = ""
    for word in words:
        name, equals, value = word.removeprefix("--").partition("=")
        if word.startswith("--"):
            option = "" if equals else name
        elif option:
            name, option, value = option, "", word
        elif word != "-h" and not {*places} <= told.keys():
            name, value = next(place for place in places if place not in told), word
        if value:
            told[name] = value
        if value and name == "config":
            files |= _content(value)
    return {**files, **told}


def _content(file: str) -> dict[str, str]:
    """Of a file of options; nothing where the parser will object to it."""
    try:
        content = read_options(Path(file))
    except (OSError, ValueError, yaml.YAMLError):
        return {}
    return {str(name): str(value) for name, value in content.items()} if isinstance(content, dict) else {}
