"""JSON files read again: each kind of file declares its fields once, and a file is checked whole before any of it is used.

A shape is a type, or made of shapes:

str, int, float, bool, dict, list, object   a value of that type; numbers are such as a float or 64 bits hold, object is anything
(A, B)                                      one of several; None in it stands for null
frozenset of strings                        one of these strings
[A]                                         a list
{str: A}                                    names of any kind, each with such a value
{"name": A, "other?": B}                    a record with these fields, those with ? perhaps, and with others that nobody reads
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from enstruct.errors import DataError

Shape = Any
WORDS: dict[Any, str] = {
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    dict: "names and values",
    list: "a list",
    None: "null",
    object: "a number of 64 bits",
}
SHOWN = 40
"""Characters of a value in a message."""


class _ShapeError(Exception):
    """``where`` : the field, as "best[0].settings"; empty for the whole."""

    def __init__(self, where: str, what: str) -> None:
        super().__init__(f"{where or 'it'} {what}")


def read_record(path: Path, shape: Shape, isnt: str) -> Any:
    """The content of a JSON file of that shape. DataError, which names file and field, for any other.

    ``isnt``: what such a one is said to be, as "not a results file".
    """
    try:
        return parsed(path.read_text(encoding="utf-8"), shape)
    except (OSError, ValueError) as error:
        raise DataError(f"{path} is {isnt}: {error}. Put a copy of it back, or move it away.") from error


def parsed(text: str, shape: Shape) -> Any:
    """A JSON text of that shape. ValueError, which names the field, for any other."""
    try:
        content = json.loads(text)
        _check(content, shape, "")
    except RecursionError as error:
        raise ValueError("its lists are nested too deep") from error
    except _ShapeError as error:
        raise ValueError(str(error)) from error
    return content


def fits(content: Any, shape: Shape) -> bool:
    """Whether what is read already has that shape."""
    try:
        _check(content, shape, "")
    except _ShapeError:
        return False
    return True


def _check(value: Any, shape: Shape, where: str) -> None:
    if isinstance(shape, tuple):
        if not any(fits(value, each) for each in shape):
            raise _ShapeError(where, f"is {_short(value)}, not {' or '.join(map(_said, shape))}")
    elif isinstance(shape, list):
        _demand(isinstance(value, list), value, list, where)
        for i, entry in enumerate(value):
            _check(entry, shape[0], f"{where}[{i}]")
    elif isinstance(shape, dict):
        _demand(isinstance(value, dict), value, dict, where)
        _check_fields(value, shape, where)
    else:
        _demand(_is(value, shape), value, shape, where)
        if isinstance(value, list | dict):  # what nobody has declared: its numbers may be too large all the same
            _check(value, [object] if isinstance(value, list) else {str: object}, where)


def _check_fields(value: dict[str, Any], shape: dict[Any, Shape], where: str) -> None:
    prefix = f"{where}." if where else ""
    for field, each in shape.items():
        if field is str:
            for name, entry in value.items():
                _check(entry, each, f"{prefix}{name}")
        elif field.removesuffix("?") in value:
            _check(value[field.removesuffix("?")], each, f"{prefix}{field.removesuffix('?')}")
        elif not field.endswith("?"):
            raise _ShapeError(where, f"has no {field!r}")


def _demand(fine: bool, value: Any, shape: Shape, where: str) -> None:
    if not fine:
        raise _ShapeError(where, f"is {_short(value)}, not {_said(shape)}")


def _is(value: Any, shape: Shape) -> bool:
    if shape is None:
        return value is None
    if isinstance(value, int) and abs(value) > sys.maxsize:
        return False
    if isinstance(shape, frozenset):
        return isinstance(value, str) and value in shape
    if shape in (int, float):
        return isinstance(value, int | float if shape is float else int) and not isinstance(value, bool)
    return isinstance(value, shape)


def _said(shape: Shape) -> str:
    if isinstance(shape, frozenset):
        return f"one of {', '.join(sorted(shape))}"
    return WORDS[list if isinstance(shape, list) else dict if isinstance(shape, dict) else shape]


def _short(value: Any) -> str:
    if isinstance(value, int) and abs(value) > sys.maxsize:
        return "a number of more than 64 bits"
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "names and values"
    text = json.dumps(value)
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"
