"""Pretrained word vectors and clusters, as text: GloVe, word2vec or fastText lines ``word v1 .. vd``, compressed or not."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from enstruct.data.numbers import overflows, to_numbers, whole
from enstruct.data.opening import read_lines
from enstruct.errors import ParseError, shortened, shown


class WordVectors(NamedTuple):
    """``vectors`` (words, width) float32."""

    words: list[str]
    vectors: NDArray[np.float32]


HEADER = re.compile(r"([+-]?[0-9]+) ([+-]?[0-9]+)")


def read_vectors(path: Path | str) -> WordVectors:
    """Any such file; words may hold blanks. A first line of two whole numbers is word2vec's header, which must be true.

    ParseError with the line.
    """
    lines = read_lines(path)
    header = HEADER.fullmatch(lines[0].rstrip()) if lines else None
    begin = 0 if header is None else 1
    if len(lines) <= begin:
        raise ParseError("there are no vectors in it", path)
    most = len(lines[begin].rstrip().split(" ")) - 1  # words may hold rarer blanks
    if header is not None:
        _check_header(path, header, len(lines) - 1, most)
    width = most if header is None else int(header[2])
    if width < 1:
        raise ParseError(f"not a word and its numbers with blanks between them: {shown(lines[begin])}", path, begin + 1)
    for number, line in enumerate(lines[begin:], begin + 1):  # before memory is taken for so many
        if line.count(" ") < width:
            raise ParseError(f"not a word and {width} numbers: {shown(line)}", path, number)
    words: list[str] = []
    vectors = np.empty((len(lines) - begin, width), dtype=np.float32)
    for row, line in enumerate(lines[begin:]):
        word, *numbers = line.rstrip().rsplit(" ", width)
        values, bad = to_numbers(numbers)
        if len(numbers) != width or (bad is not None and not overflows(numbers[bad])):
            raise ParseError(f"not a word and {width} numbers: {shown(line)}", path, row + begin + 1)
        with np.errstate(over="ignore"):
            vectors[row] = np.inf if bad is not None else values
        if not np.isfinite(vectors[row]).all():
            raise ParseError(f"numbers that are not finite in single precision: {shown(line)}", path, row + begin + 1)
        words.append(word)
    return WordVectors(words, vectors)


def _check_header(path: Path | str, header: re.Match[str], rows: int, most: int) -> None:
    """ParseError where the words and numbers it promises are not those of the file."""
    if whole(header[1]) != rows:
        raise ParseError(f"the header promises {shortened(header[1], 20)} words, the file has {rows}: correct it", path, 1)
    width = whole(header[2])
    if width is None or not 1 <= width <= most:
        raise ParseError(f"the header promises {shortened(header[2], 20)} numbers a word, line 2 has {most}: correct it", path, 1)


def read_clusters(path: Path | str) -> dict[str, str]:
    """Brown clusters, lines ``bits TAB word TAB count``: word -> bits. ParseError."""
    clusters = {}
    for number, line in enumerate(read_lines(path), 1):
        cells = line.split("\t")
        if len(cells) < 2 or not set(cells[0]) <= {"0", "1"}:
            raise ParseError(f"not a bit string, a tab and a word: {shown(line)}", path, number)
        clusters[cells[1]] = cells[0]
    return clusters
