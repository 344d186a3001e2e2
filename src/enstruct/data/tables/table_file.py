"""What files of named columns have in common: names, and rows some at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from enstruct.errors import ParseError, nearest_name, shortened, shown

Cells: TypeAlias = tuple[str, ...] | NDArray[np.floating[Any]]
"""Of a column: as they stand in the file, or numbers, NaN where there are none."""
WHOLE = 2**53
"""Below it double precision tells whole numbers apart."""


class Listed(str):
    """A cell that was a list in the file, its ``items`` each closed by ``;``."""

    items: tuple[str, ...]

    def __new__(cls, items: Sequence[str]) -> Self:
        cell = super().__new__(cls, "".join(f"{item};" for item in items))
        cell.items = tuple(items)
        return cell


@dataclass(frozen=True)
class Block:
    """Some rows: column -> cells, and the place in the file, a line or a row, that each row ends in."""

    columns: Mapping[str, Cells]
    places: Sequence[int]

    def strings(self, name: str) -> tuple[str, ...]:
        """The cells of a column as a text says them, empty where there are none."""
        cells = self.columns[name]
        return tuple(map(_written, cells)) if isinstance(cells, np.ndarray) else cells


class TableFile(ABC):
    """A file whose columns' ``names`` are read. A context manager: what is not read in the end is not read any more."""

    unit = "line"
    """Of places."""
    header: int | None = 1
    """The place of the names."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.names: list[str] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @abstractmethod
    def close(self) -> None: ...

    @abstractmethod
    def blocks(self, names: Sequence[str] | None = None) -> Iterator[Block]:
        """All rows, some at a time, once; of the columns ``names`` at least, None for all. ParseError where there are none."""

    def check(self, names: Sequence[str], must_be_there: bool = True) -> list[str]:
        """Those that are there. ParseError where they must be and are not."""
        names = [names] if isinstance(names, str) else names
        there = {*self.names}
        for name in names:
            if must_be_there and name not in there:
                first = ", ".join(shortened(name, 20) for name in self.names[:6]) + ", ..." * (len(self.names) > 6)
                meant = nearest_name(name, [one for one in self.names if len(one) <= 60])
                raise ParseError(f"there is no column {shown(name)}; the header has {first}.{meant}", self.path)
        return [name for name in names if name in there]

    def check_header(self) -> None:
        """ParseError for a column without a name, or two of one."""
        seen: set[str] = set()
        for number, name in enumerate(self.names, 1):
            if not name:
                mend = "name it, or, if it is an index that pandas wrote, write with index=False"
                raise self.error(f"column {number} has no name: {mend}", self.header)
            if name in seen:
                raise self.error(f"two columns are called {shown(name)}", self.header)
            seen.add(name)

    def error(self, message: str, place: int | None = None, column: str | None = None) -> ParseError:
        return ParseError(message, self.path, place, column, self.unit)


def _written(value: np.floating[Any]) -> str:
    if np.isnan(value):
        return ""
    return str(int(value)) if value.is_integer() and abs(value) < WHOLE else str(value)  # as short as its precision allows
