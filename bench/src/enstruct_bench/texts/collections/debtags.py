"""Debian's programs and their debtags (facets such as "use::editing", given by hand), from an archive's own indices.

    Packages        stanzas of "Field: value" lines, one a package: Package, Source, Description (one line), Tag
    Translation-en  likewise: Package, Description-en, whose further lines are the long description

Both lie on every Debian machine (``apt-get -o Acquire::Languages=en update``, then ``lz4 -dc /var/lib/apt/lists/...``). A
document is a package with the tag "role::program", its text both descriptions. Its other tags are labels, of those that LEAST
training documents have; tags of "special::" say what is not tagged yet. Packages of one source, whose descriptions share
sentences, are all in one part: a quarter of the sources is for testing, by a checksum of their names.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from enstruct.data.opening import read_lines
from enstruct.errors import ParseError
from enstruct_bench.texts.collections.documents import Collection, Labelled, as_documents

PROGRAM, UNTAGGED = "role::program", "special::"
LEAST = 50


def read_debtags(folder: Path) -> Collection:
    long = {stanza["Package"]: stanza.get("Description-en", "") for stanza in _stanzas(folder / "Translation-en")}
    parts: tuple[list[Labelled], list[Labelled]] = ([], [])
    seen = set()
    for stanza in _stanzas(folder / "Packages"):
        name, tags = stanza["Package"], [tag.strip() for tag in stanza.get("Tag", "").split(",")]
        if PROGRAM not in tags or name in seen:
            continue
        seen.add(name)  # an index may hold several versions
        labels = [tag for tag in tags if tag and tag != PROGRAM and not tag.startswith(UNTAGGED)]
        is_test = zlib.crc32(stanza.get("Source", name).split(" ")[0].encode()) % 4 == 0
        parts[is_test].append(Labelled(long.get(name) or stanza.get("Description", ""), labels))
    counts = Counter(label for row in parts[0] for label in row.labels)
    names = sorted(label for label, n in counts.items() if n >= LEAST)
    if not names:
        raise ParseError(f"no tag of programs is on {LEAST} of them", folder / "Packages")
    train, test = (as_documents(part, names) for part in parts)
    return Collection(train, test)


def _stanzas(path: Path) -> Iterator[dict[str, str]]:
    """Fields of each, lines that go on joined by blanks."""
    fields: dict[str, str] = {}
    last = ""
    for number, line in enumerate([*read_lines(path), ""], 1):
        if not line.strip():
            if fields:
                if "Package" not in fields:
                    raise ParseError("a stanza names no package", path, number)
                yield fields
            fields, last = {}, ""
        elif line[0] in " \t":
            if not last:
                raise ParseError("a line goes on with no field before it", path, number)
            fields[last] += " " + ("" if line.strip() == "." else line.strip())
        else:
            last, colon, value = line.partition(":")
            if not colon:
                raise ParseError("a line is no field and its value", path, number)
            fields[last] = value.strip()
