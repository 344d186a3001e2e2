"""CSV and TSV files with a header: a row a line, a column a feature or a label.

Labels are 0/1 columns, or one column that holds each row's label names, separated by ``;`` or ``|``. Cells are numbers, or true,
false, yes and no; empty ones, ``?``, ``NA``, ``NaN`` and ``null`` are missing: in a 0/1 column labels that are not known. Fields
are separated by what the header has most of: commas, semicolons or tabs.
"""

from __future__ import annotations

import csv
import re
from array import array
from collections.abc import Generator, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from enstruct.data.dataset import Dataset, any_of
from enstruct.data.label_names import check_label_name, counted, joined_otherwise
from enstruct.data.numbers import is_number, overflows, plain_numbers, to_numbers
from enstruct.data.opening import stream_lines
from enstruct.data.rows import as_indicator, indicator_of
from enstruct.data.stacking import CHARACTERS, Stack
from enstruct.data.texts import as_array
from enstruct.errors import ParseError, shortened, shown

SEPARATORS = (",", ";", "\t")
MISSING = frozenset(("", "?", "na", "nan", "null"))
NUMBERS = {"true": "1", "false": "0", "yes": "1", "no": "0", **dict.fromkeys(MISSING, "nan")}
LONGEST_CELL = 2**24
"""Characters of a cell: a quotation mark that is never closed is found no later."""
UNKNOWN = -1
"""Of a table of labels in small numbers: what is not known."""
HOW = "their number (n: the first n columns, -n: the last n), names of 0/1 columns, or one column of names separated by ; or |"


class _Block(NamedTuple):
    """Some rows: column -> cells, and the line of the file that each row ends in."""

    columns: dict[str, tuple[str, ...]]
    lines: list[int]


class _File:
    """A file whose header is read; ``names`` of its columns. ParseError for a header that is none."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._characters = 0  # of the block that is being read
        self._source = stream_lines(path)
        self._rows = self._parsed()
        try:
            header = next(self._rows, None)
            if header is None:
                raise ParseError("there are no rows below the header", path)
            self.names = _header(path, [name.strip() for name in header[1]])
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """What is not read is not read any more."""
        self._rows.close()
        self._source.close()

    def check(self, names: Sequence[str], must_be_there: bool = True) -> list[str]:
        """Those that are there. ParseError where they must be and are not."""
        names = [names] if isinstance(names, str) else names
        there = {*self.names}
        for name in names:
            if must_be_there and name not in there:
                first = ", ".join(shortened(name, 20) for name in self.names[:6])
                raise ParseError(f"there is no column {shown(name)}; the header has {first}, ...", self.path)
        return [name for name in names if name in there]

    def blocks(self) -> Iterator[_Block]:
        """All rows, some at a time, once. ParseError where there are none, or one has not as many fields as the header."""
        lines: list[int] = []
        rows: list[list[str]] = []
        width, empty = len(self.names), True
        for line, row in self._rows:
            if len(row) != width:
                raise ParseError(f"{len(row)} fields where the header has {width}", self.path, line)
            lines.append(line)
            rows.append(row)
            if self._characters > CHARACTERS:
                yield self._block(rows, lines)
                rows, lines, empty, self._characters = [], [], False, 0
        if rows:
            yield self._block(rows, lines)
        elif empty:
            raise ParseError("there are no rows below the header", self.path)

    def _block(self, rows: list[list[str]], lines: list[int]) -> _Block:
        return _Block(dict(zip(self.names, zip(*rows, strict=True), strict=True)), lines)

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
        width = 0  # quotes may hold several lines
        try:
            for row in reader:
                if row or width == 1:  # of a single column an empty cell is an empty line
                    width = width or len(row)
                    yield reader.line_num, row or [""]
        except csv.Error as error:
            what = f"no field, a quotation mark that is never closed, or more than {LONGEST_CELL:,} characters ({error})"
            raise ParseError(what, self.path, reader.line_num) from error


def read_csv(
    path: Path | str,
    labels: int | str | Path | Sequence[str] | None,
    drop: Sequence[str] = (),
    known: Sequence[str] | None = None,
    must_be_there: bool = True,
    text: Sequence[str] | None = None,
) -> Dataset:
    """Read one file.

    ``labels``: a number (n: the first n columns, -n: the last n), names of 0/1 columns (a list, or joined by commas), or one
    column that holds names; empty: no labels. ``known``: the names that a column of names may hold, in their order; None for
    those that are there.
    ``text``: names of columns of texts, the only ones that are read beside labels; of several each row's are one below the other.
    ``must_be_there``: whether to refuse a column in ``drop`` that is not. Raises ParseError (file, line, column); also where
    nothing but labels is there, unless what else there was was dropped: such a table has features from elsewhere.
    """
    with _File(Path(path)) as file:
        return _read(file, labels, drop, known, must_be_there, text)


def _read(
    file: _File, labels: Any, drop: Sequence[str], known: Sequence[str] | None, must_be_there: bool, text: Sequence[str] | None
) -> Dataset:
    path = file.path
    dropped = file.check(drop, must_be_there)
    targets = _targets(file, labels, dropped)
    left_out = {*targets, *dropped}
    inputs = file.check(text) if text else [name for name in file.names if name not in left_out]
    if both := [name for name in text or () if name in left_out]:
        raise ParseError(f"the column {shown(both[0])} of texts is said to be a label, or left out", path)
    if not inputs and not dropped:
        raise ParseError("no feature column is left", path)
    one = _Column(file.path, targets[0]) if len(targets) == 1 else None  # it may hold names, which all of it tells
    if one is None:
        for name in targets:
            check_label_name(name, path, 1, name)
    features, told, texts = Stack(), Stack(), list[str]()
    for block in file.blocks():
        if text:
            texts += ["\n".join(cells) for cells in zip(*(block.columns[name] for name in inputs), strict=True)]
        else:
            numbers = (_numbers(file.path, block, name) for name in inputs)
            features.add(np.column_stack([np.zeros((len(block.lines), 0)), *numbers]))
        if one is None:
            told.add(_told(file.path, block, targets))
        else:
            one.add(block)
    X = as_array(texts) if text else features.whole()
    if one is not None and one.holds_names(known):
        (Y, names), unknown = _named(one, known), None
    else:
        table = told.whole() if one is None else one.told()
        Y, names, unknown = as_indicator(table == 1), tuple(targets), any_of(table == UNKNOWN)
        if one is not None:
            check_label_name(targets[0], path, 1, targets[0])
    return Dataset(X, Y, tuple(inputs), names, name=path.name, unknown=unknown)


def column_names(path: Path | str) -> list[str]:
    """The header's. Raises ParseError."""
    with _File(Path(path)) as file:
        return file.names


def raw_table(path: Path | str) -> dict[str, tuple[str, ...]]:
    """Column -> its cells as they stand in the file. Raises ParseError."""
    with _File(Path(path)) as file:
        columns: dict[str, list[str]] = {name: [] for name in file.names}
        for block in file.blocks():
            for name, cells in block.columns.items():
                columns[name] += cells
    return {name: tuple(cells) for name, cells in columns.items()}


def read_told(path: Path | str, label_names: Sequence[str]) -> NDArray[np.float64]:
    """What a file tells of labels, (rows, labels) of 0, 1 and, where a cell is empty or a label has no column, NaN.

    Its columns are labels, some of ``label_names`` in any order. Raises ParseError (file, line, column).
    """
    places = {name: k for k, name in enumerate(label_names)}
    cells = Stack()
    with _File(Path(path)) as file:
        if odd := next((name for name in file.names if name not in places), None):
            mend = "take the column out, or name it as in training"
            raise ParseError(f"the model has no label {shown(odd)}: {mend}", path, 1, odd)
        for block in file.blocks():
            cells.add(_told(file.path, block, file.names))
    there = cells.whole()
    told = np.full((len(there), len(label_names)), np.nan)
    told[:, [places[name] for name in file.names]] = np.where(there == UNKNOWN, np.nan, there)
    return told


def _separator(path: Path, header: str) -> str:
    """By the suffix, or what the header has most of outside of quotes."""
    if ".tsv" in {suffix.lower() for suffix in path.suffixes}:
        return "\t"
    return max(SEPARATORS, key=re.sub(r'"[^"]*"', "", header).count)


def _header(path: Path, names: list[str]) -> list[str]:
    if all(is_number(name) for name in names):
        raise ParseError("the first line holds numbers only, and must name the columns", path, 1)
    seen: set[str] = set()
    for number, name in enumerate(names, 1):
        if not name:
            mend = "name it, or, if it is an index that pandas wrote, write with index=False"
            raise ParseError(f"column {number} has no name: {mend}", path, 1)
        if name in seen:
            raise ParseError(f"two columns are called {shown(name)}", path, 1)
        seen.add(name)
    return names


def _targets(file: _File, labels: Any, dropped: Sequence[str]) -> list[str]:
    names = file.names
    if labels is None:
        raise ParseError(f"which columns are labels? Say {HOW}; to predict a file that has none, say --unlabelled", file.path)
    if isinstance(labels, (int, np.integer)):
        return [names[i] for i in counted(file.path, names, int(labels), dropped)]
    if isinstance(labels, (str, Path)):
        whole = str(labels)
        labels = [whole] if whole in names else [name.strip() for name in whole.split(",")]
    if len(set(labels)) < len(labels):
        raise ParseError(f"a label is named twice: {', '.join(shortened(name, 20) for name in labels)}", file.path)
    return [name for name in file.check(labels) if name not in dropped]


def _numbers(path: Path, block: _Block, name: str) -> NDArray[np.float64]:
    """A column's cells, NaN where they are missing."""
    if (numbers := plain_numbers(block.columns[name])) is not None:
        return numbers
    cells = [cell.strip() for cell in block.columns[name]]
    plain = [NUMBERS.get(cell.lower(), cell) for cell in cells]
    values, at = to_numbers(plain)
    if at is None:
        return values
    if overflows(plain[at]):
        mend = "it is too large, or infinite; leave the cell empty"
    elif is_number(plain[at].replace(",", ".")):
        mend = "decimals are written with a point"
    else:
        mend = "make 0/1 columns of words, read texts by --text"
    cell, short = shown(cells[at], 40), shortened(name, 20)
    what = f"{cell} is no number: {mend}, or leave the column out (drop=[{short!r}], --drop [{short}])"
    raise ParseError(what, path, block.lines[at], name)


def _told(path: Path, block: _Block, targets: Sequence[str]) -> NDArray[np.int8]:
    """(rows, targets) of 0, 1 and UNKNOWN."""
    told = np.zeros((len(block.lines), len(targets)), dtype=np.int8)
    for k, name in enumerate(targets):
        values = _numbers(path, block, name)
        missing = np.isnan(values)
        bad = ~((values == 0) | (values == 1) | missing)
        if bad.any():
            what = "a label must be 0 or 1, or its cell empty where it is unknown"
            raise ParseError(what, path, block.lines[int(np.argmax(bad))], name)
        told[:, k] = np.where(missing, UNKNOWN, values)
    return told


class _Column:
    """The only column of labels, of names or of 0 and 1: its cells as they stand in the file."""

    def __init__(self, path: Path, name: str) -> None:
        self.path, self.name = path, name
        self.cells: list[str] = []
        self.lines = array("q")
        self._same: dict[str, str] = {}  # a cell that occurs often is one object

    def add(self, block: _Block) -> None:
        self.cells += [self._same.setdefault(cell, cell) for cell in block.columns[self.name]]
        self.lines.extend(block.lines)

    def error(self, message: str, row: int) -> ParseError:
        return ParseError(message, self.path, self.lines[row], self.name)

    def holds_names(self, known: Sequence[str] | None) -> bool:
        """Not if all that is there is 0 or 1, so that a gap is no row without labels but one whose label is unknown; unless those
        are ``known``."""
        values = {NUMBERS.get(cell.strip().lower(), cell.strip()) for cell in self._same} - {"nan"}
        if not values or not all(is_number(value) and float(value) in (0, 1) for value in values):
            return True
        return known is not None and self.name not in known

    def told(self) -> NDArray[np.int8]:
        """(rows, 1) of 0, 1 and UNKNOWN."""
        return _told(self.path, _Block({self.name: tuple(self.cells)}, [*self.lines]), [self.name])

    def check_no_reals(self) -> None:
        """That a column of measurements is not taken for names, one label for each value; names that are numbers have no
        fraction."""
        numbers = {cell: cell.strip().replace(",", ".") for cell in self._same if not _is_missing(cell)}
        if not all(map(is_number, numbers.values())):
            return
        for cell, number in numbers.items():
            if not float(number).is_integer():
                raise self.error(
                    f"{shown(cell)} is a number with a fraction, and no label: give another column; if it is a name, put a ; "
                    "behind it",
                    self.cells.index(cell),
                )

    def check_separated(self) -> None:
        """That sets are not written otherwise, as Python prints lists or joined by commas: each would be one label."""
        cells = [cell for cell in self._same if not _is_missing(cell)]
        if (cell := joined_otherwise(cells)) is not None:
            raise self.error(
                f"{shown(cell)} looks like several labels: join names by ; or |, without brackets or quotes; if it is one name, "
                "put a ; behind it",
                self.cells.index(cell),
            )


def _is_missing(cell: str) -> bool:
    return cell.strip().lower() in MISSING


def _named(column: _Column, known: Sequence[str] | None) -> tuple[sparse.csr_matrix, tuple[str, ...]]:
    """Of a column of names: a missing cell is a row without labels."""
    if known is None:
        column.check_no_reals()
        column.check_separated()
    sets: dict[str, list[str]] = {}
    first: dict[str, int] = {}
    for row, cell in enumerate(column.cells):
        if cell not in sets:
            found = {name.strip() for name in cell.replace("|", ";").split(";")} - {""}
            sets[cell], first[cell] = ([] if _is_missing(cell) else sorted(found)), row
    names = tuple(sorted({name for each in sets.values() for name in each}) if known is None else known)
    number = {name: k for k, name in enumerate(names)}
    for cell, each in sets.items():
        for name in each:
            if name not in number:
                raise column.error(f"the model has no label {shown(name)}: take it out", first[cell])
            check_label_name(name, column.path, column.lines[first[cell]], column.name)
    numbered = {cell: [number[name] for name in each] for cell, each in sets.items()}
    return indicator_of([numbered[cell] for cell in column.cells], len(names)), names
