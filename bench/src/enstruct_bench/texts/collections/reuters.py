"""Reuters-21578 from its SGML files, in the "ModApte" split: R90, the topics with a training and a test document."""

from __future__ import annotations

import html
import re
from pathlib import Path

from enstruct.data.opening import open_binary
from enstruct.errors import ParseError
from enstruct_bench.texts.collections.documents import Collection, Labelled, as_documents

DOCUMENT = re.compile(r"<REUTERS(?P<attributes>[^>]*)>(?P<content>.*?)</REUTERS>", re.DOTALL)
TOPICS, TOPIC = re.compile(r"<TOPICS>(.*?)</TOPICS>", re.DOTALL), re.compile(r"<D>(.*?)</D>")
TEXT, TAG = re.compile(r"<TEXT[^>]*>(.*?)</TEXT>", re.DOTALL), re.compile(r"</?[A-Z]+[^>]*>")
PARTS = {"TRAIN": "train", "TEST": "test"}


def read_reuters(folder: Path) -> Collection:
    """Documents without one of the topics are left out, as everybody does."""
    found: dict[str, list[Labelled]] = {"train": [], "test": []}
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
                found[PARTS[part[1]]].append(Labelled(_plain(body[1]), TOPIC.findall(topics[1])))
    if not found["train"]:
        raise ParseError("there is no document of the ModApte split", folder)
    seen = [{topic for _, topics in found[part] for topic in topics} for part in ("train", "test")]
    names = sorted(seen[0] & seen[1])
    return Collection(*(as_documents(found[part], names) for part in ("train", "test")))


def _plain(text: str) -> str:
    """Without tags and entities; control characters, which the wire had, are blanks."""
    return re.sub(r"[\x00-\x08\x0b-\x1f]+", " ", html.unescape(TAG.sub(" ", text))).strip()
