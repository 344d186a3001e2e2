"""A command as a value: its options, how it is typed, and its work. Command lines and the papers' tables are made of these."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Set
from dataclasses import MISSING, dataclass, fields, replace
from inspect import signature
from typing import Any, ClassVar, Self

import enstruct.estimators
from enstruct.cli.options import OBJECTS
from enstruct.tasks import TASKS

COLUMN = "method__"
"""How parameters begin that are columns of the method's row."""


@dataclass(frozen=True)
class Command(ABC):
    """Its fields are the options, by their names on the command line.

    A mapping called ``model`` holds the parameters of the estimator that are not its defaults, as ``set_params`` takes them; a
    tuple holds names that are typed with commas between them.

    typed : the words that it begins with. positional : fields that are typed without their names.
    output : the field that says where the figures go. makes_folder : whether that is a folder, else a file.
    goes_on : whether the command adds to its file what is missing there.
    """

    typed: ClassVar[str]
    positional: ClassVar[tuple[str, ...]] = ("data",)
    output: ClassVar[str] = "json"
    makes_folder: ClassVar[bool] = False
    goes_on: ClassVar[bool] = False

    @abstractmethod
    def run(self) -> None:
        """Do the work, and say what came of it. EnstructError, OSError."""

    def spelled(self) -> str:
        """As it is typed; what has its default is left out."""
        words = [self.typed, *(str(getattr(self, name)) for name in self.positional)]
        for each in fields(self):
            value = getattr(self, each.name)
            default = each.default if each.default_factory is MISSING else each.default_factory()
            if each.name not in self.positional and value != default:
                options = _of_model(value) if isinstance(value, Mapping) else {each.name: value}
                words += [_spelled(name, value) for name, value in options.items()]
        return " ".join(words)

    def words(self) -> list[str]:
        """The options that are single words, each of which may be the name of a file."""
        values = [getattr(self, each.name) for each in fields(self)]
        values += [inner for value in values if isinstance(value, Mapping) for inner in value.values()]
        return [value for value in values if isinstance(value, str)]

    def located(self, where: Callable[[str], str]) -> Self:
        """With every word as ``where`` says it."""

        def said(value: Any) -> Any:
            if isinstance(value, Mapping):
                return {name: said(inner) for name, inner in value.items()}
            return where(value) if isinstance(value, str) else value

        return replace(self, **{each.name: said(getattr(self, each.name)) for each in fields(self)})


def parameters(task: str, changed: Mapping[str, Any], skip: Set[str] = frozenset()) -> dict[str, Any]:
    """Every parameter of the task's estimator that a command line has, without those of ``skip``, and what is ``changed``."""
    declared = signature(getattr(enstruct.estimators, TASKS[task].estimator)).parameters
    left_out = OBJECTS | skip | {"base"}  # of the joint, which ``enstruct-bench joint`` compares
    return {**{name: each.default for name, each in declared.items() if name not in left_out}, **changed}


def _of_model(changed: Mapping[str, Any]) -> dict[str, Any]:
    """By the names of the options."""
    return {
        f"method.{name.removeprefix(COLUMN)}" if name.startswith(COLUMN) else f"model.{name}": value
        for name, value in changed.items()
    }


def _spelled(name: str, value: Any) -> str:
    if isinstance(value, bool) and "." in name:  # a parameter's own, which is typed out
        return f"--{name} {str(value).lower()}"
    if value is True:
        return f"--{name}"
    text = ",".join(value) if isinstance(value, tuple) else f"{value:g}" if isinstance(value, float) else str(value)
    if isinstance(value, list):
        text = f"[{','.join(map(str, value))}]"
    return f"--{name}={text}" if text.startswith("-") else f"--{name} {text}"
