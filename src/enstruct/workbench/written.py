"""Answers as data: the rows that were labelled, with what was told of them, in a file that ``enstruct train`` reads.

A table keeps its columns, but those of labels, which are 1, 0 or, where nothing is known, empty, one a label; JSON lines keep
their fields, and labels are {name: true or false}. Of other formats a CSV file is made.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from enstruct.data.dataset import Dataset
from enstruct.data.kinds import ending, is_table_there
from enstruct.data.opening import read_lines
from enstruct.data.tables.read import column_names, raw_table
from enstruct.data.text_files import LABELS
from enstruct.errors import DataError, shown
from enstruct.files import replace_file

BLOCK = 1000
"""Rows of numbers that are made dense at a time."""


@dataclass(frozen=True)
class Written:
    """How the data in ``source`` are written again; ``data()``: what files hold that are neither tables nor JSON lines.

    ``label_columns``: what held labels in it, a field of JSON lines too.
    """

    source: str
    data: Callable[[], Dataset]
    label_columns: tuple[str, ...] = ()

    @property
    def ending(self) -> str:
        return ".jsonl" if self._is_lines else ".csv"

    @property
    def _is_lines(self) -> bool:
        return Path(self.source).is_file() and ending(self.source) == ".jsonl"

    def write(self, path: Path, names: Sequence[str], told: NDArray[np.float64]) -> None:
        """``told`` (rows, labels) of 0, 1 and NaN. SaveError; DataError for a column that is called as a label is."""
        replace_file(path, partial(self._write, names=names, told=told))

    def _write(self, path: Path, names: Sequence[str], told: NDArray[np.float64]) -> None:
        with path.open("w", encoding="utf-8", newline="") as file:
            if self._is_lines:
                file.writelines(self._lines(names, told))
            else:
                csv.writer(file, lineterminator="\n").writerows(self._cells(names, told))

    def _lines(self, names: Sequence[str], told: NDArray[np.float64]) -> Iterator[str]:
        field = self.label_columns[0] if self.label_columns else LABELS
        documents = (json.loads(line) for line in read_lines(self.source) if line.strip())
        for record, row in zip(documents, told, strict=True):
            record[field] = {name: bool(value) for name, value in zip(names, row, strict=True) if not np.isnan(value)} or None
            yield json.dumps(record, ensure_ascii=False) + "\n"

    def _cells(self, names: Sequence[str], told: NDArray[np.float64]) -> Iterator[list[str]]:
        labels = [["" if np.isnan(value) else str(int(value)) for value in row] for row in told]
        if is_table_there(self.source):
            kept = [name for name in column_names(self.source) if name not in self.label_columns]
            if both := [name for name in kept if name in names]:
                raise DataError(f"The column {shown(both[0])} and a label have one name: rename the column.")
            table = raw_table(self.source, kept)
            yield [*kept, *names]
            for k, row in enumerate(labels):
                yield [*(table[name][k] for name in kept), *row]
            return
        data = self.data()
        X, texts = data.X, data.holds_texts
        yield [*data.feature_names, *names]
        for start in range(0, len(data), BLOCK):
            block: Any = X[start : start + BLOCK]
            block = block.toarray() if sparse.issparse(block) else block
            for k, row in enumerate(block):
                cells = [row] if texts else row
                yield [*map(_cell, cells), *labels[start + k]]


def filled(
    names: Sequence[str], n_rows: int, given: NDArray[np.float64] | None, told: Mapping[int, Mapping[str, Any]]
) -> NDArray[np.float64]:
    """(rows, labels) of 0, 1 and NaN: what the data gave, None for nothing, and over it what was told, row -> label -> value."""
    table = np.full((n_rows, len(names)), np.nan) if given is None else given.copy()
    number = {name: k for k, name in enumerate(names)}
    for row, cells in told.items():
        for name, value in cells.items():
            if name in number:
                table[row, number[name]] = np.nan if value is None else float(value)
    return table


def _cell(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "" if np.isnan(value) else f"{value:.17g}"
