"""svmlight lines ``l1,l2 f:v f:v …``, with or without the header ``rows features labels`` of the XMC repository.

Labels count from 0. Features count from 0 when a header is there; otherwise from 1 unless index 0 occurs, or as told: a model
keeps what they counted from in a training file without header. A line without anything, but at the end, is a row without
anything.
"""

from __future__ import annotations

import math
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.datasets import load_svmlight_file

from enstruct.data.dataset import MOST_COLUMNS, Dataset
from enstruct.data.opening import read_lines
from enstruct.errors import ParseError


def read_svmlight(
    path: Path | str, n_labels: int | None = None, n_features: int | None = None, first_feature: int | None = None
) -> Dataset:
    """Raises ParseError with the line at fault. ``n_labels`` and ``n_features`` widen the matrices if given.

    first_feature : what features of files without a header count from, 0 or 1; None: 1 unless index 0 occurs.
    """
    every = enumerate(read_lines(path), 1)
    lines = [(number, line.split("#", 1)[0].rstrip()) for number, line in every if not line.lstrip().startswith("#")]
    first = next((i for i, (_, line) in enumerate(lines) if line), 0)
    header = _header(lines[first][1]) if lines else None
    body = _rows(lines[first + 1 :] if header else lines, header[0] if header else 0)
    if header:
        n_features, n_labels, first_feature = header[1], max(header[2], n_labels or 0), 0
    if not body:
        raise ParseError("no rows", path)
    checked = [_check(path, number, line) for number, line in body]
    label_sets = [labels for labels, _ in checked]
    if header and header[0] != len(body):
        raise ParseError(f"the header promises {header[0]} rows, the file has {len(body)}", path, 1)
    features = "\n".join(f"0 {row}" for _, row in checked)
    if first_feature is None:
        first_feature = 0 if any(row and int(row.partition(":")[0]) == 0 for _, row in checked) else 1
    try:
        X, _ = load_svmlight_file(
            BytesIO(features.encode()), n_features=n_features, zero_based=first_feature == 0, dtype=np.float64
        )
    except ValueError as error:
        raise ParseError(str(error), path) from error
    Y = _indicator(path, label_sets, body, n_labels)
    names = tuple(f"f{i}" for i in range(X.shape[1])), tuple(str(i) for i in range(Y.shape[1]))
    return Dataset(X, Y, *names, name=Path(path).name, first_feature=None if header else first_feature)


def _rows(lines: list[tuple[int, str]], promised: int) -> list[tuple[int, str]]:
    """Without blank lines at the end, or anywhere if there are as many others as the header promised."""
    filled = [(number, line) for number, line in lines if line]
    if len(filled) == promised:
        return filled
    while len(lines) > promised and not lines[-1][1]:
        lines = lines[:-1]
    return lines


def _header(line: str) -> tuple[int, int, int] | None:
    parts = line.split()
    if len(parts) == 3 and all(p.isdecimal() for p in parts):
        return int(parts[0]), int(parts[1]), int(parts[2])
    return None


def _check(path: Path | str, number: int, line: str) -> tuple[list[int], str]:
    """The row's labels, and its features; every other token must read ``index:value`` with increasing indices."""
    head, tokens = ("", line.split()) if line[:1].strip() == "" or ":" in line.split(" ", 1)[0] else _head(line)
    previous = -1
    for token in tokens:
        index, colon, value = token.partition(":")
        if not colon or not index.isdecimal() or not _finite(value):
            raise ParseError(f"expected feature:value, found {token!r}", path, number)
        if int(index) <= previous:
            raise ParseError(f"feature {index} is repeated or out of order", path, number)
        previous = _place(path, number, int(index))
    try:
        labels = [int(label) for label in head.split(",") if label]
    except ValueError as error:
        raise ParseError(f"labels must be whole numbers joined by commas, found {head!r}", path, number) from error
    return [_place(path, number, label) for label in labels], " ".join(tokens)


def _place(path: Path | str, number: int, index: int) -> int:
    """A feature's or label's number, which is its column."""
    if index >= MOST_COLUMNS:
        raise ParseError(
            f"the number {index} means as many columns, more than {MOST_COLUMNS}: number those that occur", path, number
        )
    return index


def _head(line: str) -> tuple[str, list[str]]:
    head, _, rest = line.partition(" ")
    return head, rest.split()


def _finite(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _indicator(path: Path | str, label_sets: list[list[int]], body: Any, n_labels: int | None) -> sparse.csr_matrix:
    flat = [label for labels in label_sets for label in labels]
    if not flat and n_labels is None:
        raise ParseError("no row has a label", path)
    width = max(flat) + 1 if n_labels is None else n_labels
    for (number, _), labels in zip(body, label_sets, strict=True):
        if outside := [label for label in labels if not 0 <= label < width]:
            raise ParseError(f"label {outside[0]} is outside 0..{width - 1}", path, number)
    row = np.repeat(np.arange(len(label_sets)), [len(labels) for labels in label_sets])
    Y = sparse.csr_matrix((np.ones(len(flat), np.uint8), (row, flat)), shape=(len(label_sets), width))
    Y.data[:] = 1  # a label listed twice is one label
    return Y
