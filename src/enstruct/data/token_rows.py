"""Sentences as a file has them: their text, and where each ends.

A list for each sentence and a string for each token take 80 and 50 bytes and more beside what is in them: thirty times a file of
short ones. Here a sentence takes its own bytes and 8 more, and becomes a list as it is asked for.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterator, Sequence
from typing import Generic, TypeVar, cast, overload

Item = TypeVar("Item")


class TokenRows(Sequence[list[Item]], Generic[Item]):
    """A list of strings, or of tuples of them, for each sentence; equal to any sequence of equal rows.

    are_tuples : whether an item is a tuple, else its cell alone.
    """

    __slots__ = ("are_tuples", "ends", "text")

    def __init__(self, are_tuples: bool = False) -> None:
        self.are_tuples = are_tuples
        self.text = bytearray()  # UTF-8, a line an item, its cells with tabs between them
        self.ends = array("q")  # of rows, in bytes

    def append(self, cells: Sequence[str]) -> None:
        """One more item of the row that is open: its cells, which hold neither tabs nor line feeds."""
        self.text += ("\t".join(cells) + "\n").encode()

    @property
    def is_open(self) -> bool:
        """Whether something was appended since the last row was closed."""
        return len(self.text) > (self.ends[-1] if self.ends else 0)

    def close(self) -> None:
        """The row that is open ends here; nothing where none is."""
        if self.is_open:
            self.ends.append(len(self.text))

    def __len__(self) -> int:
        return len(self.ends)

    @overload
    def __getitem__(self, index: int) -> list[Item]: ...

    @overload
    def __getitem__(self, index: slice) -> list[list[Item]]: ...

    def __getitem__(self, index: int | slice) -> list[Item] | list[list[Item]]:
        """A row, or a list of rows."""
        if isinstance(index, slice):
            return [self._row(k) for k in range(*index.indices(len(self)))]
        return self._row(range(len(self))[index])  # an integer of any kind, from the end if it is negative; IndexError beyond

    def _row(self, place: int) -> list[Item]:
        begin = self.ends[place - 1] if place else 0
        lines = self.text[begin : self.ends[place] - 1].decode().split("\n")
        if self.are_tuples:
            return cast("list[Item]", [tuple(map(sys.intern, line.split("\t"))) for line in lines])
        return cast("list[Item]", [*map(sys.intern, lines)])  # a word that occurs often is one object

    def __iter__(self) -> Iterator[list[Item]]:
        return map(self._row, range(len(self)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or isinstance(other, str):
            return NotImplemented
        return len(self) == len(other) and all(mine == its for mine, its in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]  # as of lists

    def __repr__(self) -> str:
        return f"{type(self).__name__} of {len(self)} rows"
