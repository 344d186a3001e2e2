"""The Blurb Genre Collection (Aly et al. 2019): BlurbGenreCollection_EN_PART.txt, a <book> after another.

The files look like XML and are none: ampersands stand as they are. Genres are <d0> to <d3> within <topics>, by their depth; every
genre's parents are given with it.
"""

from __future__ import annotations

import html
import re
from pathlib import Path

from enstruct.data.opening import open_binary
from enstruct.errors import ParseError
from enstruct_bench.texts.collections.documents import Collection, Labelled, as_collection

BOOK = re.compile(r"<book\b[^>]*>(.*?)</book>", re.DOTALL)
TITLE, BODY, TOPICS = (re.compile(rf"<{tag}>(.*?)</{tag}>", re.DOTALL) for tag in ("title", "body", "topics"))
GENRE = re.compile(r"<d\d>(.*?)</d\d>", re.DOTALL)


def read_blurbs(folder: Path) -> Collection:
    """Published training and development blurbs together, published test blurbs; a text is title and blurb."""
    parts = {part: _read(folder / f"BlurbGenreCollection_EN_{part}.txt") for part in ("train", "dev", "test")}
    return as_collection(parts["train"] + parts["dev"], parts["test"])


def _read(path: Path) -> list[Labelled]:
    with open_binary(path) as file:
        try:
            content = file.read().decode("utf-8")
        except UnicodeDecodeError as error:
            raise ParseError(f"the file is not in UTF-8 ({error.reason} at byte {error.start})", path) from error
    books = [_book(match[1], path, content.count("\n", 0, match.start()) + 1) for match in BOOK.finditer(content)]
    if not books:
        raise ParseError("there is no <book> in it", path)
    return books


def _book(content: str, path: Path, line: int) -> Labelled:
    title, body, topics = (pattern.search(content) for pattern in (TITLE, BODY, TOPICS))
    if title is None or body is None or topics is None:
        raise ParseError("a book lacks its title, its body or its topics", path, line)
    genres = dict.fromkeys(html.unescape(genre).strip() for genre in GENRE.findall(topics[1]))
    return Labelled(html.unescape(f"{title[1].strip()}\n{body[1].strip()}"), list(genres))
