"""Gaps of a paper's table in one of its sections that another fills.

Each version of the library has sections of its own, one a machine, printed from a summary that stays as it was made. What one of
them says was not run may stand in another by now: such a row is left out, a cell says whether that is above or below, and no
command asks for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from enstruct_bench.comparison.quantity import Quantity, Value
from enstruct_bench.reports.cells import DIVERGED, NOT_RUN
from enstruct_bench.reports.markdown import Table, Text
from enstruct_bench.reports.reproduced import TITLES
from enstruct_bench.reports.summaries import Blocks, read_blocks

SECTION = re.compile(r"^### ", re.M)
HEADING = re.compile(r"^#### (\S+)$", re.M)
REQUEST = re.compile(r"^(Not run|Too few runs|Fewer runs than others) \((\w+)\): `[^`]*?(?: --methods (\S+)[^`]*)?`.*\n\n?", re.M)
SCORES = {"published": TITLES.index("published protocol here, 0.5"), "fair": TITLES.index("fair: 0.5")}
"""Protocol -> the column with its first score."""
DIFFERENCES = TITLES.index("best rule") + 1
"""The first of these columns; after them come the runs."""
Place = tuple[str, str, int]
"""Data set, row, column."""


def printed_sections(paths: Sequence[Path], declared: Sequence[str] = ()) -> list[str]:
    """One table's sections as they stand on a page, by summaries of several versions; ``declared``: all rows that the table is
    to have, which a section without runs of a data set does not list. DataError for a damaged one."""
    parts = [list(_parts(read_blocks(path))) for path in paths]
    there = [[measured(blocks) for blocks in of_path] for of_path in parts]
    flat = [places for of_path in there for places in of_path]
    out, number = [], 0
    for of_path in parts:
        lines: list[str] = []
        for blocks in of_path:
            elsewhere = {place: "below" for other in flat[number + 1 :] for place in other}
            elsewhere |= {place: "above" for other in flat[:number] for place in other}
            lines += _filled(blocks, {place: where for place, where in elsewhere.items() if place not in flat[number]}, declared)
            number += 1
        out.append(str(Text(lines)))
    return out


def _parts(blocks: Blocks) -> Iterator[Blocks]:
    """Of a summary, one a section."""
    part: Blocks = []
    for block in blocks:
        pieces = list(_cut(block, SECTION)) if isinstance(block, str) else [block]
        for piece in pieces:
            if part and isinstance(piece, str) and SECTION.match(piece):
                yield [*part[:-1], str(part[-1]).removesuffix("\n")]  # of what was cut; putting texts together adds one
                part = []
            part.append(piece)
    yield part


def _cut(text: str, where: re.Pattern[str]) -> Iterator[str]:
    """Before each of what the pattern finds; together they are the text."""
    for start, end in pairwise([0, *(found.start() for found in where.finditer(text)), len(text)]):
        if start < end:
            yield text[start:end]


def measured(blocks: Blocks) -> set[Place]:
    """Where a section has figures, or runs that diverged."""
    return {
        (dataset, str(row[0]), column)
        for dataset, block in _by_dataset(blocks)
        if not isinstance(block, str) and _is_of_methods(block[0])
        for row in block[1]
        for column in range(SCORES["published"], len(TITLES) - 1)
        if _is_measured(row[column])
    }


def _is_measured(cell: Value) -> bool:
    return isinstance(cell, Quantity) or cell == DIVERGED


def _is_of_methods(columns: Sequence[str]) -> bool:
    return len(columns) == len(TITLES) and columns[0] == TITLES[0]


def _by_dataset(blocks: Blocks) -> Iterator[tuple[str, str | tuple[list[str], list[list[Value]]]]]:
    """Each block after the data set whose heading came last; texts in pieces, one a heading."""
    dataset = ""
    for block in blocks:
        if not isinstance(block, str):
            yield dataset, block
            continue
        for piece in _cut(block, HEADING):
            dataset = heading[1] if (heading := HEADING.match(piece)) else dataset
            yield dataset, piece


def _filled(blocks: Blocks, elsewhere: Mapping[Place, str], declared: Sequence[str]) -> Iterator[str]:
    text, listed = "", dict[str, list[list[Value]]]()
    for dataset, block in _by_dataset(blocks):
        if isinstance(block, str):
            text += _asked(block, dataset, elsewhere, [str(row[0]) for row in listed.get(dataset, [])] or declared)
            continue
        yield text
        text = ""
        if not _is_of_methods(block[0]):
            yield Table(*block)
            continue
        listed[dataset] = block[1]
        rows = [row for row in (_named(row, dataset, elsewhere) for row in block[1]) if row is not None]
        yield Table(block[0], rows) if rows else "All of its rows have figures in another section."
    yield text


def _named(row: list[Value], dataset: str, elsewhere: Mapping[Place, str]) -> list[Value] | None:
    """The row with where that stands which is not run here; None where nothing else was to be seen in it."""
    own: list[Value] = [
        elsewhere.get((dataset, str(row[0]), column), cell) if cell == NOT_RUN else cell for column, cell in enumerate(row)
    ]
    seen = any(map(_is_measured, own[SCORES["published"] : -1])) or NOT_RUN in own[SCORES["published"] : DIFFERENCES]
    return own if seen or own == row else None


def _asked(text: str, dataset: str, elsewhere: Mapping[Place, str], rows: Sequence[str]) -> str:
    """Asking for those of the ``rows`` alone that no section has, and without the heading of a data set of which nothing else
    is said."""

    def fewer(found: re.Match[str]) -> str:
        _, protocol, methods = found.groups()
        asked = methods.split(",") if methods else list(rows) or [row for of, row, _ in elsewhere if of == dataset]
        left = [name for name in asked if (dataset, name, SCORES[protocol]) not in elsewhere]
        if len(left) == len(asked):
            return found[0]
        if methods is not None:
            return found[0].replace(methods, ",".join(left)) if left else ""
        return found[0].replace(f"--datasets {dataset}`", f"--datasets {dataset} --methods {','.join(left)}`") if left else ""

    asked = REQUEST.sub(fewer, text)
    return "" if asked != text and HEADING.fullmatch(asked.strip()) else asked
