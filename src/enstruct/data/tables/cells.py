"""Cells as numbers, and as what is told of labels.

Cells are numbers, or true, false, yes and no; empty ones, ``?``, ``NA``, ``NaN`` and ``null`` are missing: in a 0/1 column labels
that are not known.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from enstruct.data.numbers import is_number, overflows, plain_numbers, to_numbers
from enstruct.data.tables.table_file import Block, TableFile
from enstruct.errors import ParseError, shortened, shown

MISSING = frozenset(("", "?", "na", "nan", "null"))
NUMBERS = {"true": "1", "false": "0", "yes": "1", "no": "0", **dict.fromkeys(MISSING, "nan")}
NO_LABEL = "a label must be 0 or 1 (or no, yes, false, true), or its cell empty where it is unknown"
AMOUNT = re.compile(r"[^\w\s-]{0,3}\s?-?\d[\d.,'\s]*\s?[^\d\s]{0,3}")
"""A number with a unit before or behind it, or with thousands signs."""
UNKNOWN = -1
"""Of a table of labels in small numbers: what is not known."""


def is_missing(cell: str) -> bool:
    return cell.strip().lower() in MISSING


def as_written(cell: str) -> str:
    """A cell as a number would be written, "nan" if it is missing; itself if it is a word."""
    return NUMBERS.get(cell.strip().lower(), cell.strip())


def numbers(file: TableFile, block: Block, name: str, of_label: bool = False) -> NDArray[np.float64]:
    """A column's cells, NaN where they are missing. ParseError for words and what is not finite."""
    column = block.columns[name]
    if isinstance(column, np.ndarray):
        if np.isinf(column).any():
            raise _no_number(file, block, name, int(np.argmax(np.isinf(column))))
        return column.astype(np.float64)
    if (found := plain_numbers(column)) is not None:
        return found
    values, at = to_numbers([as_written(cell) for cell in column])
    if at is not None:
        raise file.error(NO_LABEL, block.places[at], name) if of_label else _no_number(file, block, name, at)
    return values


def _no_number(file: TableFile, block: Block, name: str, at: int) -> ParseError:
    column = block.columns[name]
    cell = str(column[at]).strip()
    plain = as_written(cell)
    if isinstance(column, np.ndarray) or overflows(plain):
        mend = "it is too large, or infinite; leave the cell empty"
    elif is_number(plain.replace(",", ".")):
        mend = "decimals are written with a point"
    elif AMOUNT.fullmatch(plain):
        mend = "write the bare number, without units or thousands signs"
    else:
        mend = "make 0/1 columns of words, read texts by --text"
    short = shortened(name, 20)
    what = f"{shown(cell, 40)} is no number: {mend}, or leave the column out (drop=[{short!r}], --drop [{short}])"
    return file.error(what, block.places[at], name)


def told(file: TableFile, block: Block, targets: Sequence[str]) -> NDArray[np.int8]:
    """(rows, targets) of 0, 1 and UNKNOWN. ParseError for other numbers."""
    table = np.zeros((len(block.places), len(targets)), dtype=np.int8)
    for k, name in enumerate(targets):
        values = numbers(file, block, name, of_label=True)
        missing = np.isnan(values)
        bad = ~((values == 0) | (values == 1) | missing)
        if bad.any():
            raise file.error(NO_LABEL, block.places[int(np.argmax(bad))], name)
        table[:, k] = np.where(missing, UNKNOWN, values)
    return table
