"""Labels as readers hand them on: told by a number, and named, each once and so that a row of names is one line."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from enstruct.errors import ParseError, shown

LISTED = re.compile(r"""[\[({]\s*(?:['"].*['"],?\s*)?[\])}]""", re.DOTALL)
"""A set as Python prints it."""
BREAKING = frozenset(("Cc", "Cs", "Zl", "Zp"))
"""Unicode's categories of what breaks lines and columns apart, or cannot be written at all: controls (tab, line feed, NUL, ...),
surrogates, the separators of lines and of paragraphs."""


def check_label_name(name: str, path: Path | str, line: int | None = None, column: str | None = None) -> None:
    """ParseError for a name that is empty or could not be written within a line."""
    if (fault := fault_of_name(name)) is not None:
        raise ParseError(fault, path, line, column)


def fault_of_name(name: str) -> str | None:
    """What is wrong with a name that is empty or could not be written within a line."""
    if not name:
        return "a label without a name: give it one"
    if not name.isprintable() and (odd := next((c for c in name if unicodedata.category(c) in BREAKING), None)):
        return f"the label name {shown(name)} holds the character U+{ord(odd):04X}, which breaks lines apart: rename it"
    return None


def check_label_names(names: Sequence[str], path: Path | str, lines: Sequence[int] | None = None) -> None:
    """ParseError for a name that occurs twice, is empty or could not be written within a line.

    lines : where each name stands in the file, if that is known.
    """
    first: dict[str, int] = {}
    for i, name in enumerate(names):
        line = None if lines is None else lines[i]
        check_label_name(name, path, line)
        if name in first:
            place = f"labels {first[name] + 1} and {i + 1}" if lines is None else f"lines {lines[first[name]]} and {line}"
            raise ParseError(f"two labels are called {shown(name)} ({place}): rename one, or take it out", path, line)
        first[name] = i


def joined_otherwise(cells: Iterable[str]) -> str | None:
    """Of cells that hold names joined by ; or |: the first that looks like several joined by commas, or as Python prints a list,
    which would be one label; None where there is none."""
    cells = list(cells)
    if any(";" in cell or "|" in cell for cell in cells):
        return None
    listed = [cell for cell in cells if LISTED.fullmatch(cell.strip())]
    parts = Counter(part.strip() for cell in cells for part in cell.split(","))
    by_commas = [cell for cell in cells if "," in cell and any(parts[part.strip()] > 1 for part in cell.split(","))]
    return next(iter(listed or by_commas), None)


def counted(path: Path, names: Sequence[str], number: int, dropped: Collection[str]) -> range:
    """The positions of labels told by a number as in MEKA's ``-C``, the first n or, of -n, the last n of all columns.

    ParseError if there are not so many beside features, or if one of them is left out: a number cannot say whether another should
    take its place.
    """
    if number == 0 or abs(number) >= len(names):
        raise ParseError(f"{shown(number)} labels asked for, but the file has {len(names)} columns", path)
    positions = range(number) if number > 0 else range(len(names) + number, len(names))
    if both := [names[i] for i in positions if names[i] in dropped]:
        which = f"the first {number}" if number > 0 else f"the last {-number}"
        what = f"{shown(both[0])} is to be left out and is among {which} columns, which are said to be the labels"
        raise ParseError(f"{what}: name the labels", path)
    return positions
