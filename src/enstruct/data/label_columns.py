"""Which columns are labels, told by a number as in MEKA's ``-C``: n for the first n, -n for the last n."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from enstruct.errors import ParseError, shown


def counted(path: Path, names: Sequence[str], number: int, dropped: Collection[str]) -> range:
    """Their positions among all columns. ParseError if there are not so many beside features, or one of them is left out: a
    number cannot say whether another should take its place."""
    if number == 0 or abs(number) >= len(names):
        raise ParseError(f"{shown(number)} labels asked for, but the file has {len(names)} columns", path)
    found = range(number) if number > 0 else range(len(names) + number, len(names))
    if both := [names[i] for i in found if names[i] in dropped]:
        which = f"the first {number}" if number > 0 else f"the last {-number}"
        raise ParseError(
            f"{shown(both[0])} is to be left out and is among {which} columns, which are said to be the labels: name the labels",
            path,
        )
    return found
