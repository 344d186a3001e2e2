"""Collections of documents with label sets, read from the files that their publishers give out.

    reuters21578   SGML, the "ModApte" split; R90: topics with a training and a test document
    goemotions     TSV without header: text, numbers of emotions joined by commas, an id; labels.txt names the emotions

They lie below ``ENSTRUCT_DATA``/multilabel.
"""

from __future__ import annotations

import html
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from enstruct.data.opening import open_binary, read_lines
from enstruct.errors import DatasetNotFoundError, ParseError, unknown_name

DOCUMENT = re.compile(r"<REUTERS(?P<attributes>[^>]*)>(?P<content>.*?)</REUTERS>", re.DOTALL)
TOPICS, TOPIC = re.compile(r"<TOPICS>(.*?)</TOPICS>", re.DOTALL), re.compile(r"<D>(.*?)</D>")
TEXT, TAG = re.compile(r"<TEXT[^>]*>(.*?)</TEXT>", re.DOTALL), re.compile(r"</?[A-Z]+[^>]*>")
PARTS = {"TRAIN": "train", "TEST": "test"}


@dataclass(frozen=True)
class Documents:
    """``texts`` and ``Y`` (documents, labels) of 0 and 1."""

    texts: list[str]
    Y: NDArray[np.uint8]
    names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.texts)

    def take(self, rows: NDArray[np.intp]) -> Documents:
        return replace(self, texts=[self.texts[i] for i in rows], Y=self.Y[rows])


@dataclass(frozen=True)
class Collection:
    train: Documents
    test: Documents


def load_collection(name: str) -> Collection:
    """ConfigError for another name, DatasetNotFoundError where it does not lie."""
    if name not in READERS:
        raise unknown_name("collection", name, READERS)
    folder = Path(os.environ.get("ENSTRUCT_DATA", "")) / "multilabel" / name
    if "ENSTRUCT_DATA" not in os.environ or not folder.is_dir():
        raise DatasetNotFoundError(
            f"{name} may not be passed on: put it at multilabel/{name} below the folder ENSTRUCT_DATA names."
        )
    return READERS[name](folder)


def read_reuters(folder: Path) -> Collection:
    """R90. Documents without one of its topics are left out, as everybody does."""
    found: dict[str, list[tuple[str, list[str]]]] = {"train": [], "test": []}
    for path in sorted(folder.glob("reut2-*.sgm*")):
        with open_binary(path) as file:
            text = file.read().decode("latin-1")
        for match in DOCUMENT.finditer(text):
            attributes, content = match["attributes"], match["content"]
            part = re.search(r'LEWISSPLIT="([^"]*)"', attributes)
            topics = TOPICS.search(content)
            body = TEXT.search(content)
            if part is None or topics is None or body is None:
                raise ParseError("a document lacks its split, its topics or its text", path)
            if part[1] in PARTS and 'TOPICS="YES"' in attributes:
                found[PARTS[part[1]]].append((_plain(body[1]), TOPIC.findall(topics[1])))
    if not found["train"]:
        raise ParseError("there is no document of the ModApte split", folder)
    seen = [{topic for _, topics in found[part] for topic in topics} for part in ("train", "test")]
    names = tuple(sorted(seen[0] & seen[1]))
    return Collection(*(_documents(found[part], names) for part in ("train", "test")))


def _plain(text: str) -> str:
    """Without tags and entities; control characters, which the wire had, are blanks."""
    return re.sub(r"[\x00-\x08\x0b-\x1f]+", " ", html.unescape(TAG.sub(" ", text))).strip()


def _documents(rows: list[tuple[str, list[str]]], names: tuple[str, ...]) -> Documents:
    number = {name: k for k, name in enumerate(names)}
    kept = [(text, [number[one] for one in labels if one in number]) for text, labels in rows]
    kept = [row for row in kept if row[1]]
    Y = np.zeros((len(kept), len(names)), dtype=np.uint8)
    for i, (_, labels) in enumerate(kept):
        Y[i, labels] = 1
    return Documents([text for text, _ in kept], Y, names)


def read_goemotions(folder: Path) -> Collection:
    """Published training and development rows together, published test rows."""
    names = tuple(read_lines(folder / "labels.txt"))
    parts = {part: _read_tsv(folder / f"{part}.tsv.xz", names) for part in ("train", "dev", "test")}
    both = parts["train"] + parts["dev"]
    return Collection(_documents(both, names), _documents(parts["test"], names))


def _read_tsv(path: Path, names: tuple[str, ...]) -> list[tuple[str, list[str]]]:
    out = []
    for number, line in enumerate(read_lines(path), 1):
        fields = line.rstrip("\r").split("\t")
        if len(fields) != 3 or not all(one.isdigit() and int(one) < len(names) for one in fields[1].split(",")):
            raise ParseError("a line is no text, numbers of emotions and id", path, number)
        out.append((fields[0], [names[int(one)] for one in fields[1].split(",")]))
    return out


READERS: dict[str, Callable[[Path], Collection]] = {"reuters21578": read_reuters, "goemotions": read_goemotions}
