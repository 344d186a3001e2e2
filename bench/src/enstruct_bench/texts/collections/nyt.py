"""The New York Times Annotated Corpus (Sandhaus 2008): NITF files, articles with paths of a taxonomy.

    **/*.xml, or archives of them         as LDC2008T19 has them, data/2003/07/12.tgz and so on
    train.txt, test.txt, validation.txt   one path of an article a line, "data/2003/07/12/1503021.xml"; the last may be missing

Labels are the taxonomic classifiers, "Top/News/Sports", and all their parents below "Top". The splits that papers use
are not given out with the corpus: the lists say which.
"""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

from enstruct.data.opening import read_lines
from enstruct.errors import ParseError
from enstruct_bench.texts.collections.archives import members
from enstruct_bench.texts.collections.documents import Collection, Labelled, as_collection

ROOT = "Top"
CLASSIFIERS = ".//classifier[@type='taxonomic_classifier']"


def read_nyt(folder: Path) -> Collection:
    """Training and validation articles together; those without a label are left out."""
    part_of: dict[str, str] = {}
    for part in ("train", "validation", "test"):
        listed = folder / f"{part}.txt"
        if part != "validation" or listed.is_file():
            part_of |= {line.strip(): "test" if part == "test" else "train" for line in read_lines(listed) if line.strip()}
    found: dict[str, list[Labelled]] = {"train": [], "test": []}
    for name, content in members(folder, ".xml"):
        if name in part_of:
            found[part_of.pop(name)].append(_article(content, folder / name))
    if part_of:
        raise ParseError(f"{len(part_of)} articles of the lists are not there, the first {next(iter(part_of))}", folder)
    return as_collection(found["train"], found["test"])


def _article(content: bytes, path: Path) -> Labelled:
    try:
        article = ElementTree.fromstring(content)
    except ElementTree.ParseError as error:
        raise ParseError(f"it is no XML ({error})", path) from error
    paths = ["".join(one.itertext()).strip().split("/") for one in article.iterfind(CLASSIFIERS)]
    labels = {"/".join(path[: depth + 1]): None for path in paths if path[0] == ROOT for depth in range(1, len(path))}
    headline = article.findtext(".//hedline/hl1") or ""
    body = [" ".join("".join(one.itertext()).split()) for one in article.iterfind(".//block[@class='full_text']/p")]
    return Labelled("\n".join([headline.strip(), *body]).strip(), list(labels))
