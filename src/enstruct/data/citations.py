"""Inline-tagged references, one a line:  ``<author> A. Cau. </author> <title> Formalising ... </title>``.

Tokens are what blanks separate; each has the tag it stands in. Words between two fields, as a lone full stop, belong to the field
before them, at the beginning of a line to the one behind. Tags do not nest; a lone ``<br>`` is left out. Tags that are not closed
or closed by another, and lines without any, are a ParseError with the line.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from enstruct.data.opening import stream_lines
from enstruct.errors import ParseError, shortened

MARK = re.compile(r"<(/?)([A-Za-z][\w-]*)>")


def read_citations(path: Path | str) -> tuple[list[list[str]], list[list[str]]]:
    """(references, tags), both as lists of words."""
    references, tags = [], []
    same: dict[str, str] = {}
    for number, line in enumerate(stream_lines(path), 1):
        if not line.strip():
            continue
        words, names = _parse(line.replace("<br>", " ").replace("</br>", " "), path, number)
        references.append([same.setdefault(word, word) for word in words])
        tags.append(names)
    if not references:
        raise ParseError("there are no references in it", path)
    return references, tags


def _parse(line: str, path: Path | str, number: int) -> tuple[list[str], list[str]]:
    words: list[str] = []
    names: list[str | None] = []
    inside: str | None = None
    before: str | None = None
    end = 0

    def take(text: str) -> None:
        added = text.split()
        words.extend(added)
        names.extend([inside or before] * len(added))

    for mark in MARK.finditer(line):
        take(line[end : mark.start()])
        closing, name = bool(mark[1]), mark[2]
        short = shortened(name, 60)
        if closing and name != inside:
            raise ParseError(f"</{short}> closes {'nothing' if inside is None else f'<{shortened(inside, 60)}>'}", path, number)
        if not closing and inside is not None:
            raise ParseError(f"<{short}> opens inside <{shortened(inside, 60)}>", path, number)
        inside, before = (None, name) if closing else (name, before)
        end = mark.end()
    if inside is not None:
        raise ParseError(f"<{shortened(inside, 60)}> is not closed", path, number)
    take(line[end:])
    first = next((name for name in names if name is not None), None)
    if first is None:
        raise ParseError("no word of it stands in a tag: say that the file is unlabelled (--unlabelled), or tag it", path, number)
    return words, [name or first for name in names]


def read_references(path: Path | str) -> list[list[str]]:
    """The words of each line alone, whatever marks stand in it: references without tags, or with faulty ones."""
    lines = (MARK.sub(" ", line).split() for line in stream_lines(path))
    return [words for words in lines if words]


def write_citations(references: Sequence[Sequence[str | tuple[str, ...]]], tags: Sequence[Sequence[str]]) -> str:
    """The text of an inline-tagged file; neighbouring words of one tag share a field."""
    lines = []
    for words, names in zip(references, tags, strict=True):
        fields = groupby(zip(words, names, strict=True), key=lambda pair: pair[1])
        lines.append(" ".join(f"<{name}> {' '.join(str(word) for word, _ in pairs)} </{name}>" for name, pairs in fields))
    return "\n".join(lines) + "\n"
