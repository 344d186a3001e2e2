"""svmlight lines ``l1,l2 f:v f:v …``, with or without the header ``rows features labels`` of the XMC repository.

Labels count from 0. Features count from 0 when a header is there; otherwise from 1 unless index 0 occurs, or as told: a model
keeps what they counted from in its training file. A line without anything, but at the end, is a row without
anything.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from enstruct.data.dataset import MOST_COLUMNS, Dataset, most_columns
from enstruct.data.numbers import is_number, whole
from enstruct.data.opening import stream_lines
from enstruct.errors import ParseError, shortened, shown

BLANK = -1
"""Entries of a line without any: whether it is a row the end of the file tells."""


def read_svmlight(
    path: Path | str, n_labels: int | None = None, n_features: int | None = None, first_feature: int | None = None
) -> Dataset:
    """Raises ParseError with the line at fault. ``n_labels`` and ``n_features`` widen the matrices if given.

    first_feature : what features of files without header count from, 0 or 1; None: 1 unless index 0 occurs.
    """
    header, at, lines = _opened(path)
    read = _Read()
    for number, line in lines:
        read.add(path, number, line)
    limits = most_columns(read.entries, n_features), most_columns(read.entries, n_labels)
    n_rows = read.rows(header[0] if header else 0)
    if header:
        _check_header(path, at, header, n_rows, limits)
        n_features, n_labels, first_feature = header[1], max(header[2], n_labels or 0), 0
    if not n_rows:
        raise ParseError("no rows", path)
    for most, limit in zip((read.most_feature, read.most_label), limits, strict=True):
        _place(path, most.line, str(most.index), most.index, limit)
    if first_feature is None:
        first_feature = 0 if read.least_feature.index == 0 else 1
    width = max(1, read.most_feature.index + 1 - first_feature) if n_features is None else n_features
    for each in (read.least_feature, read.most_feature):
        if each.line and not 0 <= each.index - first_feature < width:
            what = f"invalid index {each.index}: there are {width} features, from {first_feature} on"
            raise ParseError(what, path, each.line)
    if read.most_label.line == 0 and n_labels is None:
        raise ParseError("no row has a label", path)
    label_width = read.most_label.index + 1 if n_labels is None else n_labels
    for each in (read.least_label, read.most_label):
        if each.line and not 0 <= each.index < label_width:
            raise ParseError(f"label {each.index} is outside 0..{label_width - 1}", path, each.line)
    X, Y = read.matrices(header[0] if header else 0, width, label_width, first_feature)
    names = tuple(f"f{i}" for i in range(width)), tuple(str(i) for i in range(label_width))
    return Dataset(X, Y, *names, name=Path(path).name, first_feature=first_feature)


class _Extreme:
    """The least or the largest number so far, and the line that it stood in first; line 0: there is none."""

    __slots__ = ("index", "line")

    def __init__(self) -> None:
        self.index, self.line = -1, 0

    def meet(self, index: int, line: int, least: bool) -> None:
        if not self.line or (index < self.index if least else index > self.index):
            self.index, self.line = index, line


class _Read:
    """All lines behind the header as flat arrays, blank ones too: which of them are rows the end of the file tells."""

    def __init__(self) -> None:
        self.values, self.columns, self.labels = array("d"), array("i"), array("i")
        self._features, self._labels = array("i"), array("i")  # how many of each line
        self.filled = self._last = 0
        self.least_feature, self.most_feature = _Extreme(), _Extreme()
        self.least_label, self.most_label = _Extreme(), _Extreme()

    @property
    def entries(self) -> int:
        """Features and labels."""
        return len(self.values) + len(self.labels)

    def add(self, path: Path | str, number: int, line: str) -> None:
        if not line:
            self._features.append(BLANK)
            self._labels.append(BLANK)
            return
        labels, features = _row(path, number, line, (MOST_COLUMNS, MOST_COLUMNS))
        self.filled += 1
        self._features.append(len(features))
        self._labels.append(len(labels))
        self._last = len(self._features)
        self.columns.extend(features)
        self.values.extend(features.values())
        self.labels.extend(max(label, -1) for label in labels)  # those below 0 are refused in the end
        if features:  # they rise
            self.least_feature.meet(next(iter(features)), number, True)
            self.most_feature.meet(next(reversed(features)), number, False)
        if labels:
            self.least_label.meet(min(labels), number, True)
            self.most_label.meet(max(labels), number, False)

    def rows(self, promised: int) -> int:
        """Lines but blank ones at the end, or without any blank ones if there are as many others as the header promised."""
        return self.filled if self.filled == promised else max(self._last, min(promised, len(self._features)))

    def matrices(self, promised: int, width: int, n_labels: int, first: int) -> tuple[sparse.csr_matrix, sparse.csr_matrix]:
        """X and Y, once: the arrays are theirs from then on."""
        n = self.rows(promised)
        counts = [np.frombuffer(each, np.int32) for each in (self._features, self._labels)]
        if self.filled == promised:
            counts = [each[each != BLANK] for each in counts]
        features, labels = (np.maximum(each[:n], 0) for each in counts)
        columns = np.frombuffer(self.columns, np.int32) if len(self.columns) else np.zeros(0, np.int32)
        columns -= first
        X = sparse.csr_matrix((np.array(self.values, copy=None), columns, _begins(features)), shape=(n, width))
        flat = np.array(self.labels, np.int32, copy=None)
        Y = sparse.csr_matrix((np.ones(len(flat), np.uint8), flat, _begins(labels)), shape=(n, n_labels))
        Y.sum_duplicates()
        Y.data[:] = 1
        return X, Y


def _begins(counts: NDArray[np.int32]) -> NDArray[Any]:
    """Where each row's entries begin, and where the last one's end."""
    total = int(counts.sum())
    begins = np.zeros(len(counts) + 1, np.int32 if total < 2**31 else np.int64)
    np.cumsum(counts, out=begins[1:])
    return begins


def stream_svmlight(path: Path | str) -> tuple[tuple[int, int, int] | None, Iterator[tuple[list[int], dict[int, float]]]]:
    """(the header or None, each row's labels and features by their numbers as they stand in the file), line after line.

    Blank lines are rows without anything, those at the end only where a header promises them. ParseError with the line at fault,
    as it comes up.
    """
    limits = MOST_COLUMNS, MOST_COLUMNS
    header, _, lines = _opened(path)

    def rows() -> Iterator[tuple[list[int], dict[int, float]]]:
        blank: list[tuple[int, str]] = []
        given = 0
        for number, line in lines:
            blank.append((number, line))
            if line:
                yield from (_row(path, *one, limits) for one in blank)
                given += len(blank)
                blank.clear()
        missing = header[0] - given if header else 0
        yield from (_row(path, *one, limits) for one in blank[: max(0, missing)])

    return header, rows()


def _opened(path: Path | str) -> tuple[tuple[int, int, int] | None, int, Iterator[tuple[int, str]]]:
    """(the header or None, the line it is in, the lines behind it, numbered and without comments)."""
    numbered = enumerate(stream_lines(path), 1)
    lines = ((number, line.split("#", 1)[0].rstrip()) for number, line in numbered if not line.lstrip().startswith("#"))
    before: list[tuple[int, str]] = []
    for number, line in lines:
        if header := _header(line) if line else None:
            return header, number, lines
        before.append((number, line))
        if line:
            break
    return None, 0, chain(before, lines)


def _header(line: str) -> tuple[int, int, int] | None:
    counts = [whole(part) for part in line.split()]
    if len(counts) != 3 or None in counts:
        return None
    return cast(tuple[int, int, int], tuple(counts))


def _check_header(path: Path | str, number: int, header: tuple[int, int, int], rows: int, limits: tuple[int, int]) -> None:
    """ParseError for counts that the file does not hold, before memory is taken for them."""
    if header[0] != rows:
        raise ParseError(f"the header promises {header[0]} rows, the file has {rows}", path, number)
    for count, most, what in zip(header[1:], limits, ("features", "labels"), strict=True):
        if count > most:
            promise = f"{count} {what}, more than the {most} of a file of this size: number those that occur"
            raise ParseError(f"the header promises {promise}", path, number)


def _row(path: Path | str, number: int, line: str, limits: tuple[int, int]) -> tuple[list[int], dict[int, float]]:
    """Its labels, and its features by their numbers; every token of these must read ``index:value``, with increasing indices."""
    head, _, rest = line.partition(" ")
    if ":" in head or line[:1].isspace():
        head, rest = "", line
    features: dict[int, float] = {}
    previous = -1
    for token in rest.split():
        digits, colon, value = token.partition(":")
        index = whole(digits)
        if not colon or index is None or not is_number(value):
            raise ParseError(f"expected feature:value, found {shown(token)}", path, number)
        if index <= previous:
            raise ParseError(f"feature {shortened(digits, 20)} is repeated or out of order", path, number)
        previous = _place(path, number, digits, index, limits[0])
        features[index] = float(value)
    labels = []
    for label in filter(None, head.split(",")):
        size = whole(label[1:] if label[0] in "+-" else label)
        if size is None:
            raise ParseError(f"labels must be whole numbers joined by commas, found {shown(head)}", path, number)
        labels.append(-size if label[0] == "-" else _place(path, number, label, size, limits[1]))
    return labels, features


def _place(path: Path | str, number: int, text: str, index: int, most: int) -> int:
    """A feature's or label's number, which is its column."""
    if index > most:
        what = f"the number {shortened(text, 20)} means as many columns, more than {most}: number those that occur"
        raise ParseError(what, path, number)
    return index
