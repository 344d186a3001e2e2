"""What stands before the rows of an ARFF file: its relation and its attributes, and how values are quoted."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from enstruct.data.opening import stream_lines
from enstruct.errors import ParseError, shown

MEANINGS: dict[frozenset[str], str] = {  # the value that means 1
    frozenset(pair): pair[1]
    for pair in (("0", "1"), ("no", "yes"), ("false", "true"), ("n", "y"), ("f", "t"), ("-1", "1"), ("absent", "present"))
}
TOKEN = re.compile(r"""\s*((?:\d+\s+)?(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"))\s*(?:,|$)|([^,]*)(?:,|$)""")
"""A value, or of sparse rows its number and it, as it is quoted."""
ATTRIBUTE = re.compile(r"""@attribute\s+('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|\S+)\s+(.*)$""", re.IGNORECASE | re.DOTALL)


@dataclass(slots=True)
class Attribute:
    """``kind``: numeric, nominal, hierarchical or text; ``values`` of a nominal; ``declared`` of a hierarchy."""

    name: str
    kind: str
    line: int
    values: tuple[str, ...] = ()
    declared: str = ""
    codes: dict[str, float] | None = None  # a nominal with a 0/1 meaning

    def __post_init__(self) -> None:
        one = MEANINGS.get(frozenset(v.lower() for v in self.values)) if len(self.values) == 2 else None
        if one is not None:
            self.codes = {v: float(v.lower() == one) for v in self.values}


@dataclass
class Header:
    """What stands before the rows. ``rows``: the lines of these, numbered, to be read once."""

    path: Path
    relation: str = ""
    attributes: list[Attribute] = field(default_factory=list)
    rows: Iterable[tuple[int, str]] = ()


def read_header(path: Path) -> Header:
    """Up to the rows, which are read when they are asked for. ParseError for what is no ARFF header."""
    header, in_data = Header(path), False
    lines = enumerate(map(str.strip, stream_lines(path)), start=1)
    filled = ((number, line) for number, line in lines if line and not line.startswith("%"))
    for number, line in filled:
        if line.lower().startswith("@relation"):
            header.relation = unquote(line[len("@relation") :].strip())
        elif line.lower().startswith("@attribute"):
            header.attributes.append(_attribute(path, number, line))
        elif line.lower().startswith("@data"):
            in_data, header.rows = True, filled
            break
        else:
            raise ParseError(f"expected @attribute or @data, found {shown(line)}", path, number)
    if not header.attributes or not in_data:
        raise ParseError("no @attribute or no @data section; is this an ARFF file?", path)
    return header


def _attribute(path: Path, number: int, line: str) -> Attribute:
    match = ATTRIBUTE.match(line)
    if match is None:
        raise ParseError("an @attribute line needs a name and a type", path, number)
    name, declared = unquote(match[1]), match[2].strip()
    if "\0" in name:
        raise ParseError(f"an attribute's name holds a NUL, {shown(name)}: rename it", path, number)
    kind = declared.split(None, 1)[0].lower()
    if declared.startswith("{"):
        if not declared.endswith("}"):
            raise ParseError("the list of nominal values is not closed with '}'", path, number, name)
        return Attribute(name, "nominal", number, tuple(split_values(declared[1:-1])))
    if kind in ("numeric", "real", "integer"):
        return Attribute(name, "numeric", number)
    if kind == "hierarchical":
        classes = declared[len(kind) :].strip()
        if not classes:
            raise ParseError("a hierarchical attribute needs its classes", path, number, name)
        return Attribute(name, "hierarchical", number, declared=classes)
    if kind in ("string", "date", "relational"):
        return Attribute(name, "text", number)
    raise ParseError(f"unknown attribute type {shown(kind)}", path, number, name)


def unquote(text: str) -> str:
    """A value without the quotes it may stand in, and what is escaped in it as it is meant."""
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "'\"":
        return re.sub(r"\\(.)", r"\1", text[1:-1])
    return text


def split_values(body: str) -> list[str]:
    """Comma-separated values, quotes respected."""
    if "'" not in body and '"' not in body:
        return [value.strip() for value in body.split(",")]
    values, position = [], 0
    while position < len(body):
        match = TOKEN.match(body, position)
        if match is None:
            break
        values.append(unquote(match[2].strip() if match[1] is None else match[1]))
        position = match.end()
    return values + ([""] if body.rstrip().endswith(",") else [])
