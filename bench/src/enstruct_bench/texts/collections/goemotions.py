"""GoEmotions (Demszky et al. 2020): TSV without header, labels.txt with the emotions' names."""

from __future__ import annotations

from pathlib import Path

from enstruct.data.opening import read_lines
from enstruct.errors import ParseError
from enstruct_bench.texts.collections.documents import Collection, Labelled, as_documents


def read_goemotions(folder: Path) -> Collection:
    """Published training and development rows together, published test rows."""
    names = tuple(read_lines(folder / "labels.txt"))
    parts = {part: _read_tsv(folder / f"{part}.tsv.xz", names) for part in ("train", "dev", "test")}
    return Collection(as_documents(parts["train"] + parts["dev"], names), as_documents(parts["test"], names))


def _read_tsv(path: Path, names: tuple[str, ...]) -> list[Labelled]:
    """A line: text, numbers of emotions joined by commas, an id."""
    out = []
    for number, line in enumerate(read_lines(path), 1):
        fields = line.rstrip("\r").split("\t")
        if len(fields) != 3 or not all(one.isdigit() and int(one) < len(names) for one in fields[1].split(",")):
            raise ParseError("a line is no text, numbers of emotions and id", path, number)
        out.append(Labelled(fields[0], [names[int(one)] for one in fields[1].split(",")]))
    return out
