"""CSV and TSV files: fields are separated by what the header has most of, commas, semicolons or tabs."""

from __future__ import annotations

import csv
import re
from collections.abc import Generator, Iterator, Sequence
from itertools import chain
from pathlib import Path

from enstruct.data.numbers import is_number
from enstruct.data.opening import stream_lines
from enstruct.data.stacking import CHARACTERS
from enstruct.data.tables.table_file import Block, TableFile
from enstruct.errors import ParseError

SEPARATORS = (",", ";", "\t")
LONGEST_CELL = 2**24
"""Characters of a cell: a quotation mark that is never closed is found no later."""


class CsvFile(TableFile):
    """ParseError for a header that is none."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._characters = 0  # of the block that is being read
        self._source = stream_lines(path)
        self._rows = self._parsed()
        try:
            header = next(self._rows, None)
            if header is None:
                raise self.error("there are no rows below the header")
            self.names = [name.strip() for name in header[1]]
            if all(is_number(name) for name in self.names):
                raise self.error("the first line holds numbers only, and must name the columns", 1)
            self.check_header()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self._rows.close()
        self._source.close()

    def blocks(self, names: Sequence[str] | None = None) -> Iterator[Block]:
        """All columns. ParseError where a row has not as many fields as the header, too."""
        lines: list[int] = []
        rows: list[list[str]] = []
        width, empty = len(self.names), True
        for line, row in self._rows:
            if len(row) != width:
                raise self.error(f"{len(row)} fields where the header has {width}", line)
            lines.append(line)
            rows.append(row)
            if self._characters > CHARACTERS:
                yield self._block(rows, lines)
                rows, lines, empty, self._characters = [], [], False, 0
        if rows:
            yield self._block(rows, lines)
        elif empty:
            raise self.error("there are no rows below the header")

    def _block(self, rows: list[list[str]], lines: list[int]) -> Block:
        return Block(dict(zip(self.names, zip(*rows, strict=True), strict=True)), lines)

    def _lines(self) -> Iterator[str]:
        for line in self._source:
            self._characters += len(line)
            yield line + "\n"

    def _parsed(self) -> Generator[tuple[int, list[str]], None, None]:
        """(the line it ends in, the row), the header first."""
        lines = self._lines()
        first = next(lines, "")
        csv.field_size_limit(max(LONGEST_CELL, csv.field_size_limit()))  # of the whole process, and never less
        reader = csv.reader(chain([first], lines), delimiter=_separator(self.path, first), strict=True)
        width, begin = 0, 1  # quotes may hold several lines
        try:
            for row in reader:
                begin = reader.line_num + 1
                if row or width == 1:  # of a single column an empty cell is an empty line
                    width = width or len(row)
                    yield reader.line_num, row or [""]
        except csv.Error as error:
            what = f"no field, a quotation mark that is never closed, or more than {LONGEST_CELL:,} characters ({error})"
            raise ParseError(what, self.path, begin) from error


def _separator(path: Path, header: str) -> str:
    """By the suffix, or what the header has most of outside of quotes."""
    if ".tsv" in {suffix.lower() for suffix in path.suffixes}:
        return "\t"
    return max(SEPARATORS, key=re.sub(r'"[^"]*"', "", header).count)
