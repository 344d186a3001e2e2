"""From the options that were typed to the command that they are of."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, TypeVar

from jsonargparse import Namespace

from enstruct.cli.options import model_parameters
from enstruct_bench.comparison.command import Command

C = TypeVar("C", bound=Command)


def filled(command: type[C], options: Namespace, **further: Any) -> C:
    """The command with the options that it has fields of."""
    values = {each.name: _value(each.name, options) for each in fields(command) if each.name in options}
    return command(**{**values, **further})


def _value(name: str, options: Namespace) -> Any:
    value = options[name]
    if name == "methods":
        return tuple(method.strip() for method in value.split(",") if method.strip())
    return model_parameters(options) if isinstance(value, Namespace) else value
