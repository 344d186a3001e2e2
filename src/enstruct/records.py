"""JSON files read again: each kind of file declares its fields once, and a file is checked whole before any of it is used.

A shape is a type of which msgspec checks a value, or made of shapes:

(A, B)                                      one of several; None in it stands for null
frozenset of strings                        one of these strings
[A]                                         a list
{str: A}                                    names of any kind, each with such a value
{"name": A, "other?": B}                    a record with these fields, those with ? perhaps, and with others that nobody reads
"""

from __future__ import annotations

import json
import sys
from functools import reduce
from operator import or_
from pathlib import Path
from typing import Any, Literal, NotRequired, TypedDict

import msgspec

from enstruct.errors import DataError

Shape = Any
_record: Any = TypedDict  # of fields that are known when it is called


def read_record(path: Path, shape: Shape, isnt: str) -> Any:
    """The content of a JSON file of that shape. DataError, which names file and field, for any other.

    ``isnt``: what such a one is said to be, as "not a results file".
    """
    try:
        return parsed(path.read_text(encoding="utf-8"), shape)
    except (OSError, ValueError) as error:
        raise DataError(f"{path} is {isnt}: {error}. Put a copy of it back, or move it away.") from error


def parsed(text: str, shape: Shape) -> Any:
    """A JSON text of that shape. ValueError, which names the field (``$.runs[0].seed``), for any other."""
    try:
        content = json.loads(text, parse_int=_whole)
        msgspec.convert(content, _type_of(shape))
    except RecursionError as error:
        raise ValueError("its lists are nested too deep") from error
    return content


def fits(content: Any, shape: Shape) -> bool:
    """Whether what is read already has that shape."""
    try:
        msgspec.convert(content, _type_of(shape))
    except (ValueError, OverflowError):
        return False
    return True


def _type_of(shape: Shape) -> Any:
    """As msgspec takes it."""
    if isinstance(shape, tuple):
        return reduce(or_, map(_type_of, shape))
    if isinstance(shape, frozenset):
        return Literal[tuple(sorted(shape))]
    if isinstance(shape, list):
        return list[_type_of(shape[0])]  # type: ignore[misc]
    if not isinstance(shape, dict):
        return Any if shape is object else shape
    if [*shape] == [str]:
        return dict[str, _type_of(shape[str])]  # type: ignore[misc]
    fields = {name.removesuffix("?"): _type_of(each) for name, each in shape.items()}
    return _record("Record", {name: NotRequired[kind] if f"{name}?" in shape else kind for name, kind in fields.items()})


def _whole(digits: str) -> int:
    """ValueError for a number that arrays cannot hold."""
    number = int(digits)
    if abs(number) > sys.maxsize:
        raise ValueError("it holds a number of more than 64 bits")
    return number
