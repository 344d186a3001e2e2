"""CSV and TSV files with a header: a row a line, a column a feature or a label.

Labels are 0/1 columns, or one column that holds each row's label names, separated by ``;`` or ``|``. Cells are numbers, or true,
false, yes and no; empty ones, ``?``, ``NA``, ``NaN`` and ``null`` are missing: in a 0/1 column labels that are not known. Fields
are separated by what the header has most of: commas, semicolons or tabs.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from enstruct.data.dataset import Dataset, any_of
from enstruct.data.label_names import check_label_name, counted
from enstruct.data.numbers import is_number, overflows, to_numbers
from enstruct.data.opening import read_lines
from enstruct.data.rows import as_indicator, indicator_of
from enstruct.data.texts import as_array
from enstruct.errors import ParseError, shortened, shown

SEPARATORS = (",", ";", "\t")
MISSING = frozenset(("", "?", "na", "nan", "null"))
NUMBERS = {"true": "1", "false": "0", "yes": "1", "no": "0", **dict.fromkeys(MISSING, "nan")}
LISTED = re.compile(r"""[\[({]\s*(?:['"].*['"],?\s*)?[\])}]""", re.DOTALL)
"""A list, set or tuple of texts as Python prints it."""
HOW = "their number (n: the first n columns, -n: the last n), names of 0/1 columns, or one column of names separated by ; or |"


@dataclass
class _Table:
    """``columns``: name -> cells; ``lines``: where each row ends in the file."""

    path: Path
    columns: dict[str, tuple[str, ...]]
    lines: list[int]

    def check(self, names: Sequence[str], must_be_there: bool = True) -> list[str]:
        """Those that are there. ParseError where they must be and are not."""
        names = [names] if isinstance(names, str) else names
        for name in names:
            if must_be_there and name not in self.columns:
                first = ", ".join(shortened(name, 20) for name in [*self.columns][:6])
                raise ParseError(f"there is no column {shown(name)}; the header has {first}, ...", self.path)
        return [name for name in names if name in self.columns]

    def error(self, message: str, row: int, column: str) -> ParseError:
        return ParseError(message, self.path, self.lines[row], column)


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
    table = _read(Path(path))
    dropped = table.check(drop, must_be_there)
    targets = _targets(table, labels, dropped)
    left_out = {*targets, *dropped}
    inputs = table.check(text) if text else [name for name in table.columns if name not in left_out]
    if both := [name for name in text or () if name in left_out]:
        raise ParseError(f"the column {shown(both[0])} of texts is said to be a label, or left out", path)
    if not inputs and not dropped:
        raise ParseError("no feature column is left", path)
    X: NDArray[Any]
    if text:
        X = as_array(["\n".join(cells) for cells in zip(*(table.columns[name] for name in inputs), strict=True)])
    else:
        X = np.column_stack([np.zeros((len(table.lines), 0)), *(_numbers(table, name) for name in inputs)])
    if len(targets) == 1 and _holds_names(table.columns[targets[0]], targets[0], known):
        (Y, names), unknown = _named(table, targets[0], known), None
    else:
        for name in targets:
            check_label_name(name, path, 1, name)
        told, names = _told(table, targets), tuple(targets)
        Y, unknown = as_indicator(np.nan_to_num(told)), any_of(np.isnan(told))
    return Dataset(X, Y, tuple(inputs), names, name=Path(path).name, unknown=unknown)


def column_names(path: Path | str) -> list[str]:
    """The header's. Raises ParseError."""
    return [*_read(Path(path)).columns]


def raw_table(path: Path | str) -> dict[str, tuple[str, ...]]:
    """Column -> its cells as they stand in the file. Raises ParseError."""
    return _read(Path(path)).columns


def read_told(path: Path | str, label_names: Sequence[str]) -> NDArray[np.float64]:
    """What a file tells of labels, (rows, labels) of 0, 1 and, where a cell is empty or a label has no column, NaN.

    Its columns are labels, some of ``label_names`` in any order. Raises ParseError (file, line, column).
    """
    table = _read(Path(path))
    places = {name: k for k, name in enumerate(label_names)}
    if odd := next((name for name in table.columns if name not in places), None):
        raise ParseError(f"the model has no label {shown(odd)}: take the column out, or name it as in training", path, 1, odd)
    told = np.full((len(table.lines), len(label_names)), np.nan)
    told[:, [places[name] for name in table.columns]] = _told(table, [*table.columns])
    return told


def _read(path: Path) -> _Table:
    lines = read_lines(path)
    separator = _separator(path, lines[0] if lines else "")
    reader = csv.reader((line + "\n" for line in lines), delimiter=separator, strict=True)  # quotes may hold several lines
    rows: list[list[str]] = []
    numbers: list[int] = []
    try:
        for row in reader:
            if row or (rows and len(rows[0]) == 1):  # of a single column an empty cell is an empty line
                rows.append(row or [""])
                numbers.append(reader.line_num)
    except csv.Error as error:
        raise ParseError(f"no field, or a quotation mark that is never closed ({error})", path, reader.line_num) from error
    if len(rows) < 2:
        raise ParseError("there are no rows below the header", path)
    names = _header(path, [name.strip() for name in rows[0]])
    for row, number in zip(rows, numbers, strict=True):
        if len(row) != len(names):
            raise ParseError(f"{len(row)} fields where the header has {len(names)}", path, number)
    cells = zip(*rows[1:], strict=True)
    return _Table(path, dict(zip(names, cells, strict=True)), numbers[1:])


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


def _targets(table: _Table, labels: Any, dropped: Sequence[str]) -> list[str]:
    names = [*table.columns]
    if labels is None:
        raise ParseError(f"which columns are labels? Say {HOW}; to predict a file that has none, say --unlabelled", table.path)
    if isinstance(labels, (int, np.integer)):
        return [names[i] for i in counted(table.path, names, int(labels), dropped)]
    if isinstance(labels, (str, Path)):
        whole = str(labels)
        labels = [whole] if whole in names else [name.strip() for name in whole.split(",")]
    if len(set(labels)) < len(labels):
        raise ParseError(f"a label is named twice: {', '.join(shortened(name, 20) for name in labels)}", table.path)
    return [name for name in table.check(labels) if name not in dropped]


def _numbers(table: _Table, name: str) -> NDArray[np.float64]:
    """A column's cells, NaN where they are missing."""
    cells = [cell.strip() for cell in table.columns[name]]
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
    raise table.error(f"{cell} is no number: {mend}, or leave the column out (drop=[{short!r}], --drop [{short}])", at, name)


def _holds_names(cells: Sequence[str], column: str, known: Sequence[str] | None) -> bool:
    """Not if all that is there is 0 or 1, so that a gap is no row without labels but one whose label is unknown; unless those
    are ``known``."""
    values = {NUMBERS.get(cell.strip().lower(), cell.strip()) for cell in cells} - {"nan"}
    if not values or not all(is_number(value) and float(value) in (0, 1) for value in values):
        return True
    return known is not None and column not in known


def _told(table: _Table, targets: Sequence[str]) -> NDArray[np.float64]:
    """(rows, targets) of 0, 1 and NaN."""
    told = np.zeros((len(table.lines), len(targets)))
    for k, name in enumerate(targets):
        told[:, k] = values = _numbers(table, name)
        bad = ~(np.isin(values, (0.0, 1.0)) | np.isnan(values))
        if bad.any():
            raise table.error("a label must be 0 or 1, or its cell empty where it is unknown", int(np.argmax(bad)), name)
    return told


def _check_no_reals(table: _Table, target: str, cells: Sequence[str]) -> None:
    """That a column of measurements is not taken for names, one label for each value; names that are numbers have no fraction."""
    numbers = {at: cell.strip().replace(",", ".") for at, cell in enumerate(cells) if cell.strip()}
    if not all(map(is_number, numbers.values())):
        return
    for at, number in numbers.items():
        if not float(number).is_integer():
            raise table.error(
                f"{shown(cells[at])} is a number with a fraction, and no label: give another column; if it is a name, put a ; "
                "behind it",
                at,
                target,
            )


def _check_separated(table: _Table, target: str, cells: Sequence[str]) -> None:
    """That sets are not written otherwise, as Python prints lists or joined by commas: each would be one label."""
    if any(";" in cell or "|" in cell for cell in cells):
        return
    listed = [at for at, cell in enumerate(cells) if LISTED.fullmatch(cell.strip())]
    parts = Counter(part.strip() for cell in set(cells) for part in cell.split(","))
    by_commas = [at for at, cell in enumerate(cells) if "," in cell and any(parts[part.strip()] > 1 for part in cell.split(","))]
    if listed or by_commas:
        at = (listed or by_commas)[0]
        raise table.error(
            f"{shown(cells[at])} looks like several labels: join names by ; or |, without brackets or quotes; if it is one name, "
            "put a ; behind it",
            at,
            target,
        )


def _named(table: _Table, target: str, known: Sequence[str] | None) -> tuple[sparse.csr_matrix, tuple[str, ...]]:
    """Of a column of names: a missing cell is a row without labels."""
    cells = ["" if cell.strip().lower() in MISSING else cell for cell in table.columns[target]]
    if known is None:
        _check_no_reals(table, target, cells)
        _check_separated(table, target, cells)
    name_sets = [{name.strip() for name in cell.replace("|", ";").split(";")} - {""} for cell in cells]
    names = tuple(sorted(set().union(*name_sets)) if known is None else known)
    number = {name: k for k, name in enumerate(names)}
    for at, name_set in enumerate(name_sets):
        if unknown := sorted(name_set - number.keys()):
            raise table.error(f"the model has no label {shown(unknown[0])}: take it out", at, target)
        for name in name_set:
            check_label_name(name, table.path, table.lines[at], target)
    return indicator_of([[number[name] for name in name_set] for name_set in name_sets], len(names)), names
