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
REQUEST = re.compile(r"^(Not run|Fewer runs than others) \((\w+)\): `[^`]*?(?: --methods (\S+)[^`]*)?`.*\n\n?", re.M)
Place = tuple[str, str, str]
"""Data set, row, protocol."""


def printed_sections(paths: Sequence[Path]) -> list[str]:
    """One table's sections as they stand on a page, by summaries of several versions. DataError for a damaged one."""
    parts = [list(_parts(read_blocks(path))) for path in paths]
    there = [[measured(blocks) for blocks in of_path] for of_path in parts]
    flat = [places for of_path in there for places in of_path]
    out, number = [], 0
    for of_path in parts:
        lines: list[str] = []
        for blocks in of_path:
            elsewhere = {place: "below" for other in flat[number + 1 :] for place in other}
            elsewhere |= {place: "above" for other in flat[:number] for place in other}
            lines += _filled(blocks, {place: where for place, where in elsewhere.items() if place not in flat[number]})
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
        (dataset, str(row[0]), protocol)
        for dataset, block in _by_dataset(blocks)
        if not isinstance(block, str) and _is_of_methods(block[0])
        for row in block[1]
        for protocol in ("published", "fair")
        if any(isinstance(row[column], Quantity) or row[column] == DIVERGED for column in _columns(protocol))
    }


def _columns(protocol: str) -> range:
    """Of one that was run here, in TITLES; what is published is nothing of it."""
    first = TITLES.index("fair: 0.5")
    return range(2, first) if protocol == "published" else range(first, len(TITLES) - 1)


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


def _filled(blocks: Blocks, elsewhere: Mapping[Place, str]) -> Iterator[str]:
    text = ""
    for dataset, block in _by_dataset(blocks):
        if isinstance(block, str):
            text += _asked(block, dataset, elsewhere)
        elif not _is_of_methods(block[0]):
            yield from (text, Table(*block))
            text = ""
        else:
            rows = [row for row in (_named(row, dataset, elsewhere) for row in block[1]) if row is not None]
            yield from (text, Table(block[0], rows))
            text = ""
    yield text


def _named(row: list[Value], dataset: str, elsewhere: Mapping[Place, str]) -> list[Value] | None:
    """The row with where that stands which is not run here; None where nothing else was to be seen in it."""
    own, named = list(row), False
    for protocol in ("published", "fair"):
        where = elsewhere.get((dataset, str(row[0]), protocol))
        if where is None:
            continue
        for column in _columns(protocol):
            if own[column] == NOT_RUN:
                own[column], named = where, True
    seen = any(isinstance(own[column], Quantity) or own[column] in (NOT_RUN, DIVERGED) for column in range(2, len(own) - 1))
    return own if seen or not named else None


def _asked(text: str, dataset: str, elsewhere: Mapping[Place, str]) -> str:
    """Without commands for what another section has, nor the heading of a data set of which nothing else is said."""

    def fewer(found: re.Match[str]) -> str:
        _, protocol, methods = found.groups()
        if methods is None:
            return "" if any(place[0] == dataset and place[2] == protocol for place in elsewhere) else found[0]
        left = [name for name in methods.split(",") if (dataset, name, protocol) not in elsewhere]
        return found[0].replace(methods, ",".join(left)) if left else ""

    asked = REQUEST.sub(fewer, text)
    return "" if asked != text and HEADING.fullmatch(asked.strip()) else asked
