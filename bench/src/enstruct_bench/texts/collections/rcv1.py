"""RCV1-v2 (Lewis et al. 2004): Reuters' news items with the corrected topics, in the "LYRL2004" split.

    **/*.xml, or the days' .zip files     <newsitem itemid="2286"> with <headline> and <text><p>, from NIST under an agreement
    rcv1-v2.topics.qrels[.gz]             "E11 2286 1" a line: topic, item, 1; from the paper's appendices

Topics come with all their parents. Items to 26150 are training documents, later ones test documents.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from xml.etree import ElementTree

from enstruct.data.opening import read_lines
from enstruct.errors import DatasetNotFoundError, ParseError
from enstruct_bench.texts.collections.archives import members
from enstruct_bench.texts.collections.documents import Collection, Labelled, as_collection

LAST_OF_TRAINING = 26150
TOPICS = ("rcv1-v2.topics.qrels", "rcv1-v2.topics.qrels.gz")


def read_rcv1(folder: Path) -> Collection:
    """Items that have no topic, or whose text is not there, are left out."""
    topics = _topics(folder)
    parts: tuple[list[Labelled], list[Labelled]] = ([], [])
    for name, content in members(folder, ".xml"):
        number, text = _item(content, folder / name)
        if number in topics:
            parts[number > LAST_OF_TRAINING].append(Labelled(text, topics[number]))
    if not all(parts):
        raise ParseError("there are no news items of both parts of the LYRL2004 split", folder)
    return as_collection(*parts)


def _topics(folder: Path) -> dict[int, list[str]]:
    there = [folder / name for name in TOPICS if (folder / name).is_file()]
    if not there:
        raise DatasetNotFoundError(f"There is no file {folder / TOPICS[0]} (nor with .gz): appendix 8 of LYRL2004 gives it out.")
    out: dict[int, list[str]] = defaultdict(list)
    for number, line in enumerate(read_lines(there[0]), 1):
        fields = line.split()
        if len(fields) != 3 or not fields[1].isdigit():
            raise ParseError("a line is no topic, item and 1", there[0], number)
        out[int(fields[1])].append(fields[0])
    return out


def _item(content: bytes, path: Path) -> tuple[int, str]:
    try:
        item = ElementTree.fromstring(content)
    except ElementTree.ParseError as error:
        raise ParseError(f"it is no XML ({error})", path) from error
    number, body = item.get("itemid", ""), item.find("text")
    if not number.isdigit() or body is None:
        raise ParseError("a news item lacks its number or its text", path)
    headline = item.findtext("headline") or ""
    return int(number), "\n".join([headline, *("".join(one.itertext()) for one in body.iter("p"))]).strip()
