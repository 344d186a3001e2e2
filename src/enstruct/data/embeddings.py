"""Pretrained word vectors and clusters, as text: GloVe, word2vec or fastText lines ``word v1 .. vd``, compressed or not."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from enstruct.data.opening import read_lines
from enstruct.errors import ParseError


class WordVectors(NamedTuple):
    """``vectors`` (words, width) float32."""

    words: list[str]
    vectors: NDArray[np.float32]


def read_vectors(path: Path | str) -> WordVectors:
    """Any such file. A first line of two whole numbers (word2vec's header) is left out; words may hold blanks. ParseError."""
    lines = read_lines(path)
    first = lines[0].rstrip().split(" ") if lines else []  # words may hold rarer blanks
    begin = 1 if len(first) == 2 and all(cell.isdecimal() for cell in first) else 0
    if len(lines) <= begin:
        raise ParseError("there are no vectors in it", path)
    width = int(first[1]) if begin else len(first) - 1
    if width < 1:
        raise ParseError(f"not a word and its numbers with blanks between them: {lines[begin][:60]!r}", path, begin + 1)
    words: list[str] = []
    vectors = np.empty((len(lines) - begin, width), dtype=np.float32)
    for row, line in enumerate(lines[begin:]):
        word, *numbers = line.rstrip().rsplit(" ", width)
        try:
            vectors[row] = np.array(numbers, dtype=np.float32).reshape(width)
        except ValueError as error:
            raise ParseError(f"not a word and {width} numbers: {line[:60]!r}", path, row + begin + 1) from error
        if not np.isfinite(vectors[row]).all():
            raise ParseError(f"numbers that are not finite: {line[:60]!r}", path, row + begin + 1)
        words.append(word)
    return WordVectors(words, vectors)


def read_clusters(path: Path | str) -> dict[str, str]:
    """Brown clusters, lines ``bits TAB word TAB count``: word -> bits. ParseError."""
    clusters = {}
    for number, line in enumerate(read_lines(path), 1):
        cells = line.split("\t")
        if len(cells) < 2 or not set(cells[0]) <= {"0", "1"}:
            raise ParseError(f"not a bit string, a tab and a word: {line[:60]!r}", path, number)
        clusters[cells[1]] = cells[0]
    return clusters
