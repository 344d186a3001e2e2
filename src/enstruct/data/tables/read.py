"""Tables as data sets: which columns are labels, and what the others say.

Labels are 0/1 columns, or one column that holds each row's label names, separated by ``;`` or ``|``, in Parquet also a list.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from enstruct.data.dataset import Dataset, any_of
from enstruct.data.kinds import ending
from enstruct.data.label_names import counted, fault_of_name
from enstruct.data.opening import is_folder
from enstruct.data.rows import as_indicator
from enstruct.data.stacking import Stack
from enstruct.data.tables.cells import UNKNOWN, numbers, told
from enstruct.data.tables.csv_file import CsvFile
from enstruct.data.tables.label_column import LabelColumn
from enstruct.data.tables.parquet_file import ParquetFile
from enstruct.data.tables.table_file import Block, TableFile
from enstruct.data.texts import as_array
from enstruct.errors import ParseError, shortened, shown

HOW = "their number (n: the first n columns, -n: the last n), names of 0/1 columns, or one column of names separated by ; or |"


def open_table(path: Path | str) -> TableFile:
    """By its ending; a folder is one of Parquet. ParseError, DatasetNotFoundError."""
    path = Path(path)
    return ParquetFile(path) if ending(path) == ".parquet" or is_folder(path) else CsvFile(path)


def read_table(
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
    ``must_be_there``: whether to refuse a column in ``drop`` that is not. Raises ParseError (file, line or row, column); also
    where nothing but labels is there, unless what else there was was dropped: such a table has features from elsewhere.
    """
    with open_table(path) as file:
        inputs, targets = _columns(file, labels, drop, must_be_there, text)
        column = LabelColumn(file, targets[0]) if len(targets) == 1 else None  # it may hold names, which all of it tells
        features, tables, texts = Stack(), Stack(), list[str]()
        for block in file.blocks([*inputs, *targets]):
            if text:
                texts += ["\n".join(cells) for cells in zip(*map(block.strings, inputs), strict=True)]
            else:
                features.add(_features(file, block, inputs))
            if column is None:
                tables.add(told(file, block, targets))
            else:
                column.add(block)
        X = as_array(texts) if text else features.whole()
        Y, names, unknown = _labels(tables.whole(), targets) if column is None else _labels_of(column, known)
    return Dataset(X, Y, tuple(inputs), names, name=file.path.name, unknown=unknown)


def stream_table(
    path: Path | str, labels: Any, drop: Sequence[str] = ()
) -> tuple[list[str], tuple[str, ...], Iterator[tuple[NDArray[np.float64], sparse.csr_matrix]]]:
    """(features' names, labels' names, blocks of rows of both) of a file that may be larger than memory, as
    :func:`read_table` reads it. A column of label names is read twice. ParseError, also where a label is not known."""
    with open_table(path) as file:
        inputs, targets = _columns(file, labels, drop)
        if len(targets) != 1:
            return inputs, tuple(targets), _stream(path, inputs, targets, None)
        column = LabelColumn(file, targets[0])
        for block in file.blocks(targets):
            column.add(block)
        Y, names, unknown = _labels_of(column, None)
        if unknown is not None:
            raise _unknown(file, column.places[int(unknown.nonzero()[0][0])], targets[0])
    return inputs, names, _stream(path, inputs, [], Y)


def _stream(
    path: Path | str, inputs: Sequence[str], targets: Sequence[str], whole: sparse.csr_matrix | None
) -> Iterator[tuple[NDArray[np.float64], sparse.csr_matrix]]:
    """Blocks with their label sets, those of ``whole`` or what the columns ``targets`` say."""
    start = 0
    with open_table(path) as file:
        for block in file.blocks([*inputs, *targets]):
            X = _features(file, block, inputs)
            table = told(file, block, targets)
            if (table == UNKNOWN).any():
                row, at = np.argwhere(table == UNKNOWN)[0]
                raise _unknown(file, block.places[row], targets[at])
            yield X, as_indicator(table) if whole is None else whole[start : start + len(X)]
            start += len(X)


def _features(file: TableFile, block: Block, inputs: Sequence[str]) -> NDArray[np.float64]:
    """(rows, inputs), of which there may be none."""
    return np.column_stack([np.zeros((len(block.places), 0)), *(numbers(file, block, name) for name in inputs)])


def _unknown(file: TableFile, place: int, column: str) -> ParseError:
    return file.error("a label that is not known, and folders of arrays hold sets that are: leave such rows out", place, column)


def column_names(path: Path | str) -> list[str]:
    """The header's. Raises ParseError."""
    with open_table(path) as file:
        return file.names


def raw_table(path: Path | str, names: Sequence[str] | None = None) -> dict[str, tuple[str, ...]]:
    """Column -> its cells as they stand in the file, of the columns ``names`` or of all. Raises ParseError."""
    with open_table(path) as file:
        columns: dict[str, list[str]] = {name: [] for name in (file.names if names is None else file.check(names))}
        for block in file.blocks([*columns]):
            for name, cells in columns.items():
                cells += block.strings(name)
    return {name: tuple(cells) for name, cells in columns.items()}


def read_told(path: Path | str, label_names: Sequence[str]) -> NDArray[np.float64]:
    """What a file tells of labels, (rows, labels) of 0, 1 and, where a cell is empty or a label has no column, NaN.

    Its columns are labels, some of ``label_names`` in any order. Raises ParseError (file, line or row, column).
    """
    places = {name: k for k, name in enumerate(label_names)}
    cells = Stack()
    with open_table(path) as file:
        if odd := next((name for name in file.names if name not in places), None):
            mend = "take the column out, or name it as in training"
            raise file.error(f"the model has no label {shown(odd)}: {mend}", file.header, odd)
        for block in file.blocks():
            cells.add(told(file, block, file.names))
    there = cells.whole()
    table = np.full((len(there), len(label_names)), np.nan)
    table[:, [places[name] for name in file.names]] = np.where(there == UNKNOWN, np.nan, there)
    return table


def told_columns(path: Path | str, names: Sequence[str]) -> NDArray[np.float64]:
    """(rows, names) what columns of 0 and 1 tell, NaN where a cell is empty. ParseError."""
    cells = Stack()
    with open_table(path) as file:
        for block in file.blocks(file.check(names)):
            cells.add(told(file, block, names))
    there = cells.whole()
    return np.where(there == UNKNOWN, np.nan, there)


def _columns(
    file: TableFile, labels: Any, drop: Sequence[str], must_be_there: bool = True, text: Sequence[str] | None = None
) -> tuple[list[str], list[str]]:
    """(what is learnt from, the columns of labels). ParseError."""
    dropped = file.check(drop, must_be_there)
    targets = _targets(file, labels, dropped)
    left_out = {*targets, *dropped}
    inputs = file.check(text) if text else [name for name in file.names if name not in left_out]
    if both := [name for name in text or () if name in left_out]:
        raise ParseError(f"the column {shown(both[0])} of texts is said to be a label, or left out", file.path)
    if not inputs and not dropped:
        raise ParseError("no feature column is left", file.path)
    if len(targets) > 1:
        for name in targets:
            _check_name(file, name)
    return inputs, targets


def _check_name(file: TableFile, name: str) -> None:
    """Of a column that is a label. ParseError."""
    if (fault := fault_of_name(name)) is not None:
        raise file.error(fault, file.header, name)


def _targets(file: TableFile, labels: Any, dropped: Sequence[str]) -> list[str]:
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


def _labels(table: NDArray[np.int8], targets: Sequence[str]) -> tuple[Any, tuple[str, ...], Any]:
    """(label sets, names, what is not known) of 0/1 columns."""
    return as_indicator(table == 1), tuple(targets), any_of(table == UNKNOWN)


def _labels_of(column: LabelColumn, known: Sequence[str] | None) -> tuple[Any, tuple[str, ...], Any]:
    """The same of a single column."""
    if column.holds_names(known):
        return *column.named(known), None
    _check_name(column.file, column.name)
    return _labels(column.told(), [column.name])
