"""Names of labels as readers hand them on: each once, and such that a row of them is one line wherever it is written."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from pathlib import Path

from enstruct.errors import ParseError, shown

BREAKING = frozenset(("Cc", "Cs", "Zl", "Zp"))
"""Unicode's categories of what breaks lines and columns apart, or cannot be written at all: controls (tab, line feed, NUL, ...),
surrogates, the separators of lines and of paragraphs."""


def check_label_name(name: str, path: Path | str, line: int | None = None, column: str | None = None) -> None:
    """ParseError for a name that is empty or could not be written within a line."""
    if not name:
        raise ParseError("a label without a name: give it one", path, line, column)
    if not name.isprintable() and (odd := next((c for c in name if unicodedata.category(c) in BREAKING), None)):
        raise ParseError(
            f"the label name {shown(name)} holds the character U+{ord(odd):04X}, which breaks lines apart: rename it",
            path,
            line,
            column,
        )


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
