"""svmlight lines ``l1,l2 f:v f:v …``, with or without the header ``rows features labels`` of the XMC repository.

Labels count from 0. Features count from 0 when a header is there; otherwise from 1 unless index 0 occurs, or as told: a model
keeps what they counted from in a training file without header. A line without anything, but at the end, is a row without
anything.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any, cast

import numpy as np
from scipy import sparse

from enstruct.data.dataset import MOST_COLUMNS, Dataset, most_columns
from enstruct.data.numbers import is_number, whole
from enstruct.data.opening import read_lines, stream_lines
from enstruct.data.rows import indicator_of
from enstruct.errors import ParseError, shortened, shown


def read_svmlight(
    path: Path | str, n_labels: int | None = None, n_features: int | None = None, first_feature: int | None = None
) -> Dataset:
    """Raises ParseError with the line at fault. ``n_labels`` and ``n_features`` widen the matrices if given.

    first_feature : what features of files without a header count from, 0 or 1; None: 1 unless index 0 occurs.
    """
    numbered = enumerate(read_lines(path), 1)
    lines = [(number, line.split("#", 1)[0].rstrip()) for number, line in numbered if not line.lstrip().startswith("#")]
    first = next((i for i, (_, line) in enumerate(lines) if line), 0)
    header = _header(lines[first][1]) if lines else None
    body = _rows(lines[first + 1 :] if header else lines, header[0] if header else 0)
    entries = sum(line.count(":") + line.count(",") + 1 for _, line in body)
    limits = most_columns(entries, n_features), most_columns(entries, n_labels)
    if header:
        _check_header(path, lines[first][0], header, len(body), limits)
        n_features, n_labels, first_feature = header[1], max(header[2], n_labels or 0), 0
    if not body:
        raise ParseError("no rows", path)
    rows = [_row(path, number, line, limits) for number, line in body]
    if first_feature is None:
        first_feature = 0 if any(0 in features for _, features in rows) else 1
    X = _features(path, [features for _, features in rows], body, first_feature, n_features)
    Y = _indicator(path, [labels for labels, _ in rows], body, n_labels)
    names = tuple(f"f{i}" for i in range(X.shape[1])), tuple(str(i) for i in range(Y.shape[1]))
    return Dataset(X, Y, *names, name=Path(path).name, first_feature=None if header else first_feature)


def stream_svmlight(path: Path | str) -> tuple[tuple[int, int, int] | None, Iterator[tuple[list[int], dict[int, float]]]]:
    """(the header or None, each row's labels and features by their numbers as they stand in the file), line after line.

    Blank lines are rows without anything, those at the end only where a header promises them. ParseError with the line at fault,
    as it comes up.
    """
    limits = MOST_COLUMNS, MOST_COLUMNS
    numbered = enumerate(stream_lines(path), 1)
    lines = ((number, line.split("#", 1)[0].rstrip()) for number, line in numbered if not line.lstrip().startswith("#"))
    before: list[tuple[int, str]] = []
    header = None
    for number, line in lines:
        header = _header(line) if line else None
        before = [] if header else [*before, (number, line)]
        if line:
            break

    def rows() -> Iterator[tuple[list[int], dict[int, float]]]:
        blank: list[tuple[int, str]] = []
        given = 0
        for number, line in chain(before, lines):
            blank.append((number, line))
            if line:
                yield from (_row(path, *one, limits) for one in blank)
                given += len(blank)
                blank.clear()
        missing = header[0] - given if header else 0
        yield from (_row(path, *one, limits) for one in blank[: max(0, missing)])

    return header, rows()


def _rows(lines: list[tuple[int, str]], promised: int) -> list[tuple[int, str]]:
    """Without blank lines at the end, or anywhere if there are as many others as the header promised."""
    filled = [(number, line) for number, line in lines if line]
    if len(filled) == promised:
        return filled
    last = next((i for i in range(len(lines), 0, -1) if lines[i - 1][1]), 0)
    return lines[: max(last, min(promised, len(lines)))]


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


def _features(
    path: Path | str, rows: list[dict[int, float]], body: Any, first_feature: int, n_features: int | None
) -> sparse.csr_matrix:
    width = max(1, max(max(row, default=0) for row in rows) + 1 - first_feature) if n_features is None else n_features
    for (number, _), row in zip(body, rows, strict=True):
        if outside := [index for index in row if not 0 <= index - first_feature < width]:
            raise ParseError(f"invalid index {outside[0]}: there are {width} features, from {first_feature} on", path, number)
    columns = np.array([index - first_feature for row in rows for index in row], dtype=np.int64)
    values = np.array([value for row in rows for value in row.values()], dtype=np.float64)
    return sparse.csr_matrix((values, columns, np.cumsum([0, *map(len, rows)])), shape=(len(rows), width))


def _indicator(path: Path | str, label_sets: list[list[int]], body: Any, n_labels: int | None) -> sparse.csr_matrix:
    flat = [label for labels in label_sets for label in labels]
    if not flat and n_labels is None:
        raise ParseError("no row has a label", path)
    width = max(flat) + 1 if n_labels is None else n_labels
    for (number, _), labels in zip(body, label_sets, strict=True):
        if outside := [label for label in labels if not 0 <= label < width]:
            raise ParseError(f"label {outside[0]} is outside 0..{width - 1}", path, number)
    return indicator_of(label_sets, width)
