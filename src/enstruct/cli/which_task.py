"""What kind of output a command is about, which its options depend on: read from its words, before torch is there."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from enstruct.cli.options import ESTIMATORS
from enstruct.cli.parser import read_options
from enstruct.data.kinds import SETS, kind_of
from enstruct.errors import ConfigError, DatasetNotFoundError, ModelFileError, shown, unknown_name
from enstruct.workplaces import recover

TASKS = tuple(ESTIMATORS)
USUAL = "labels"
"""What options are shown of where nothing tells."""


def task_of(words: Sequence[str]) -> str:
    """The task of ``train``, ``predict`` or ``evaluate`` with these words. ConfigError and ModelFileError where none can be told."""
    command, *rest = words or [""]
    if command not in ("train", "predict", "evaluate"):
        return USUAL
    places, given = _places_and_options(rest)
    for file in given.get("config", ()):
        for name, value in _content(file).items():
            given.setdefault(name, []).insert(0, str(value))  # what stands on the command line wins
    if command != "train":
        model = places[0] if places else given.get("model", [None])[-1]
        return USUAL if model is None else task_of_model(Path(model))
    if "task" in given:
        if given["task"][-1] not in TASKS:
            raise unknown_name("task", given["task"][-1], TASKS)
        return given["task"][-1]
    data = places[0] if places else given.get("data", [None])[-1]
    return USUAL if data is None or {"-h", "--help"} & {*rest} else task_of_data(data)


def task_of_data(data: str) -> str:
    """By its name; ConfigError where that does not tell."""
    task = kind_of(data)
    if task is not None:
        return task
    if Path(data).exists():
        raise ConfigError(f"{data}: its ending does not tell what it holds: add --task labels, --task tags or --task masks.")
    hint = unknown_name("data set", data, (name for sets in SETS.values() for name in sets))
    raise DatasetNotFoundError(f"There is no file or folder {shown(data, 100)}. {hint}")


def task_of_model(folder: Path) -> str:
    """By what its folder says of itself; ModelFileError where there is no such folder."""
    if not folder.exists():
        recover(folder.resolve())
    if (folder / "auto.json").is_file():
        return "labels"
    if not (folder / "model.json").is_file():
        raise ModelFileError(f"{folder} is not an enstruct model folder: it has no model.json.")
    try:
        estimator = json.loads((folder / "model.json").read_bytes())["estimator"]
        return next(task for task, (_, name) in ESTIMATORS.items() if name == estimator)
    except (OSError, ValueError, RecursionError, TypeError, LookupError, StopIteration) as error:
        raise ModelFileError(f"{folder / 'model.json'} is damaged, or is of no estimator with commands ({error}).") from error


def _places_and_options(words: Sequence[str]) -> tuple[list[str], dict[str, list[str]]]:
    """Positional arguments, and options with their values: every option takes the next word, unless that is one itself."""
    places: list[str] = []
    options: dict[str, list[str]] = {}
    waiting: str | None = None
    for word in words:
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            waiting = None if equals else name
            if equals:
                options.setdefault(name, []).append(value)
        elif waiting is not None:
            options.setdefault(waiting, []).append(word)
            waiting = None
        else:
            places.append(word)
    return places, options


def _content(file: str) -> dict[str, Any]:
    """Of a file of options; nothing where the parser will object to it."""
    try:
        content = read_options(Path(file))
    except (OSError, ValueError, yaml.YAMLError):
        return {}
    return {str(name): value for name, value in content.items()} if isinstance(content, dict) else {}
