"""Files that may be larger than memory as folders of arrays (:mod:`enstruct.data.on_disk`).

svmlight files, CSV and Parquet are read block by block. Other files are read whole, and only what is trained on them needs less
memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from enstruct.data.dataset import most_columns
from enstruct.data.kinds import ending, is_table_there
from enstruct.data.load import SVMLIGHT, load
from enstruct.data.on_disk import Writer, put_in_place, write_on_disk
from enstruct.data.rows import indicator_of
from enstruct.data.svmlight import stream_svmlight
from enstruct.data.tables.read import stream_table
from enstruct.errors import ConfigError, DataError, ParseError

ROWS = 4096
"""Of a block."""
Told = Callable[[int], None]


def convert(
    source: Path | str,
    out: Path,
    labels: Any = None,
    drop: Sequence[str] = (),
    told: Told = lambda rows: None,
    first_feature: int | None = None,
) -> None:
    """A file, or a set of the catalogue, as a folder of arrays. ``told`` hears how many rows are written.

    ``labels=()`` : the file has none, and the folder holds rows to be answered; svmlight lines may still begin with some.
    ``first_feature`` : what features of an svmlight file without header count from, 0 or 1; None: 1 unless index 0 occurs.

    DataError, ParseError; nothing is left of a folder that could not be finished.
    """
    if first_feature not in (None, 0, 1):
        raise ConfigError(f"first_feature is 0 or 1, not {first_feature}: what the features of the file count from.")
    kind = ending(source)
    if kind in SVMLIGHT and Path(source).is_file():
        if drop or labels not in (None, ()):
            raise DataError(f"{source} says itself which its labels are, and has no columns: leave labels and drop out.")
        _convert_svmlight(Path(source), out, labels is None, told, first_feature)
    elif first_feature is not None:
        raise DataError(f"{source} is no svmlight file, whose features count from a number: leave first_feature out.")
    elif is_table_there(source):
        _convert_table(Path(source), out, labels, drop, told)
    else:
        data = load(source, "full", labels, drop)
        if labels == () and data.label_names:
            raise DataError(f"{source} says itself which its labels are: leave --unlabelled out; models answer it as it is.")
        write_on_disk(out, data)
        told(len(data))


def _convert_svmlight(source: Path, out: Path, labelled: bool, told: Told, first_feature: int | None) -> None:
    header, rows = stream_svmlight(source)
    if not labelled:
        header = None if header is None else (*header[:2], 0)
        rows = (([], features) for _, features in rows)

    def fill(folder: Path) -> None:
        least, most_feature, most_label = 1, -1, -1
        with Writer(folder, sparse_rows=True) as writer:
            while block := list(islice(rows, ROWS)):
                features = [features for _, features in block]
                flat = [index for row in features for index in row]
                most_feature, least = max([most_feature, *flat]), min([least, *flat])
                most_label = max([most_label, *(label for labels, _ in block for label in labels)])
                if min((label for labels, _ in block for label in labels), default=0) < 0:
                    raise ParseError(f"a label below 0 among the rows from {writer.rows} on: number them from 0", source)
                values = np.array([value for row in features for value in row.values()], dtype=np.float64)
                begins = np.cumsum([0, *map(len, features)])
                X = sparse.csr_matrix((values, np.array(flat, np.int64), begins), (len(block), most_feature + 2))
                writer.add(X, indicator_of([labels for labels, _ in block], most_label + 1))
                told(writer.rows)
            if not writer.rows:
                raise ParseError("no rows", source)
            if labelled and header is None and most_label < 0:
                raise ParseError("no row has a label", source)
            first = 0 if header else least if first_feature is None else first_feature
            if least < first:
                raise ParseError("a feature has the number 0, and they are said to count from 1", source)
            width, n_labels = (header[1], header[2]) if header else (most_feature + 1 - first, most_label + 1)
            _check_header(source, header, writer.rows, most_feature, most_label)
            _check_widths(source, width, n_labels, writer.entries)
            writer.finish(max(1, width), map(str, range(n_labels)), first_feature=first)
        if first:
            _shift(folder / "x_indices.bin", first)

    put_in_place(out, fill)


def _check_header(source: Path, header: tuple[int, int, int] | None, rows: int, feature: int, label: int) -> None:
    """ParseError for a file that does not hold what its header promises."""
    there = rows, feature + 1, label + 1
    for most, promised, what in zip(there, header or there, ("rows", "features", "labels"), strict=True):
        if most > promised or (what == "rows" and most != promised):
            raise ParseError(f"the header promises {promised} {what}, the file has {most}", source, 1)


def _check_widths(source: Path, width: int, n_labels: int, entries: int) -> None:
    """ParseError for more columns than a file of so many entries may have."""
    most = most_columns(entries)
    for count, what in ((width, "features"), (n_labels, "labels")):
        if count > most:
            raise ParseError(f"{count} {what}, more than the {most} of a file of this size: number those that occur", source)


def _shift(file: Path, first: int) -> None:
    """Columns that count from ``first``, which only the whole file tells, count from 0."""
    if file.stat().st_size:
        indices = np.memmap(file, "<i4", "r+")
        for start in range(0, len(indices), 2**22):
            indices[start : start + 2**22] -= first
        indices.flush()


def _convert_table(source: Path, out: Path, labels: Any, drop: Sequence[str], told: Told) -> None:
    features, names, rows = stream_table(source, labels, drop)

    def fill(folder: Path) -> None:
        with Writer(folder, sparse_rows=False) as writer:
            for X, Y in rows:
                writer.add(X, Y)
                told(writer.rows)
            writer.finish(len(features), names, features)

    put_in_place(out, fill)
