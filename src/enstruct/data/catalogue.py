"""Named data sets: looked for in ``ENSTRUCT_DATA``, else fetched by pooch and checked against a checksum.

The public files are the Mulan collections as kept in the Boomer-Datasets repository (git LFS: its pointers
state the SHA-256). Nothing is fetched at import, and files without a public copy say where to put them.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from enstruct.errors import DatasetNotFoundError

log = logging.getLogger("enstruct")

LFS = "https://media.githubusercontent.com/media/mrapp-ke/Boomer-Datasets"


@dataclass(frozen=True)
class Entry:
    """``parts``: part name -> path below ENSTRUCT_DATA. ``labels`` and ``drop`` as in ``read_arff``.

    ``url`` and ``sha256`` describe a public copy of the part ``full``.
    """

    name: str
    parts: dict[str, str] = field(default_factory=dict)
    labels: Any = None
    drop: tuple[str, ...] = ()
    url: str | None = None
    sha256: str | None = None

    @property
    def published_parts(self) -> bool:
        """Whether it was published as train, validation and test rows."""
        return {"train", "valid", "test"} <= set(self.parts)


MULAN = """
bibtex     159 e925d705fe09f4ce593cf162e953862d8a0cee76 a282a6d1fb3cdaf39bde3f81cd4e6079850a7a538a6bc44f8b4ed95dfe1e5014
delicious  983 db86cef9af5ef1d01f5554e689e790a3e1a0637b b944de0bca910050c11d97eed57d17b073110ea3646a587f3d15d127cf581aab
genbase     27 09993d699da741afea716cd9aba39fb8dee2804c a220a552ebecdd8d965fd67c92f8499d5d6e394a0716dd92641d376684a083c3
yeast       14 73db96cbcc8cc8891830fc86827617e4a8e7f033 55c07a3b6ff885ae338fb6987a1d57f55572b29809922c2822c4885c61230dd7
cal500     174 fb12e0c02e62e7d4a94c5f1f26ba5a66c2f3d674 cfe6097ba5fd6e8584e54911ab9783dcab34e898446b7c9370c71d477eae56d3
eurlex-ev 3993 d8b3267f31d69a7d30bdb4171f1c2d24ba3d82ee 92265935eaac2b905d7bb8aa44fc9d36f7d1a3a54539e63fcb2a60d0e574e9d7
bookmarks  208 f63ee4f1975b4090216d4696532c843c3be226b4 5ce6788f4ed7704bb9b0f474b504c840055c68380f94f2889bc1e2a36bf5efd8
mediamill  101 9d76f26050aea32aea6d255365146b7990db838e ad7e629d599ac1c80dfabe32fb9f18be28accd8e902515a461497bc48760a72b
"""
"""The public collections: name, number of labels, commit and SHA-256 of the file."""
IN_TWO_PARTS = ("bibtex", "delicious", "genbase", "yeast")
"""Those of them whose train and test rows may stand below ENSTRUCT_DATA as well."""


def _mulan(name: str, n_labels: str, commit: str, sha256: str) -> Entry:
    folder = f"multilabel/{name}/{name}"
    parts = {"full": f"{folder}.arff.xz"}
    if name in IN_TWO_PARTS:
        parts |= {"train": f"{folder}-train.arff.xz", "test": f"{folder}-test.arff.xz"}
    drop = ("protein",) if name == "genbase" else ()
    return Entry(name, parts, -int(n_labels), drop, f"{LFS}/{commit}/{name}.arff", sha256)


def _fun(name: str) -> Entry:
    return Entry(name, {p: f"multilabel/{name}/{name}.{p}.arff.xz" for p in ("train", "valid", "test")})


CATALOGUE: dict[str, Entry] = {
    entry.name: entry
    for entry in (
        *(_mulan(*line.split()) for line in MULAN.strip().splitlines()),
        _fun("spo_FUN"),
        _fun("expr_FUN"),
        _fun("cellcycle_FUN"),
        _fun("cellcycle_GO"),
        _fun("spo_GO"),
        Entry("rcv1", {"full": "multilabel/rcv1/rcv1sub1.svm.xz"}),
        Entry("imdb", {"full": "multilabel/imdb/Imdb.arff.bz2"}),
    )
}


INLINE = (".tagged", ".cite")
"""In the name of a file of references that are tagged inline."""


TAGGED: dict[str, dict[str, str]] = {
    "conll2003": {
        "train": "sequences/conll2003/eng.train.xz",
        "validation": "sequences/conll2003/eng.testa",
        "test": "sequences/conll2003/eng.testb",
    },
    "twitter_pos": {
        "train": "sequences/twitter_pos/oct27.splits/oct27.train",
        "validation": "sequences/twitter_pos/oct27.splits/oct27.dev",
        "test": "sequences/twitter_pos/daily547.conll",
    },
    "cora": {"full": "citations/parscit/cora.tagged.txt"},
}
"""Named sets of tagged sentences: part -> path below ENSTRUCT_DATA. None has a public copy that may be fetched for users."""
PICTURES = {"weizmann32": "masks/weizmann32"}
"""Named sets of images with masks: their folder below ENSTRUCT_DATA. None has a public copy that may be fetched for users."""


def data_root() -> Path | None:
    """The folder ``ENSTRUCT_DATA`` points at, if it is set."""
    value = os.environ.get("ENSTRUCT_DATA")
    return Path(value) if value else None


def where_to_put(path: str) -> str:
    """In words, for a file or folder that is not there."""
    return f"{path} below the folder ENSTRUCT_DATA points at (now {data_root() or 'not set'})"


def not_passed_on(what: str, path: str) -> DatasetNotFoundError:
    """For a set that has to be at this path and may not be fetched for users."""
    return DatasetNotFoundError(f"{what} may not be passed on, so there is no copy to fetch: put it at {where_to_put(path)}.")


def locate(entry: Entry, part: str) -> Path:
    """A readable file: below ENSTRUCT_DATA, else fetched; DatasetNotFoundError says what would provide it."""
    root, path = data_root(), entry.parts[part]
    if root is not None and (root / path).is_file():
        return root / path
    if entry.url is None or part != "full":
        raise DatasetNotFoundError(f"{entry.name} ({part}) has no public copy in the catalogue; put it at {where_to_put(path)}.")
    return _fetch(entry)


_bar_of: Callable[[str], Any] | None = None


def show_downloads(bar_of: Callable[[str], Any] | None) -> None:
    """From now on ``bar_of(name)`` is asked for a bar before every download; None: nothing is shown, as at first.

    pooch sets a bar's ``total``, in bytes, and calls ``update(n)`` for each n bytes more, ``reset()`` and ``close()``.
    """
    global _bar_of
    _bar_of = bar_of


def _fetch(entry: Entry) -> Path:
    import pooch  # only here: nobody who brings a file needs it

    def download(url: str, output_file: Any, mediator: Any) -> None:
        """Called where the cache has no such file."""
        log.info("fetching %s from %s", entry.name, url)
        bar = None if _bar_of is None else _bar_of(entry.name)
        try:
            pooch.HTTPDownloader(progressbar=bar or False, chunk_size=2**16)(url, output_file, mediator)
        finally:
            if bar is not None:
                bar.close()

    checksum, name, cache = f"sha256:{entry.sha256}", f"{entry.name}.arff", pooch.os_cache("enstruct")
    logger = pooch.get_logger()  # which prints on its own
    level = logger.level
    logger.setLevel(logging.WARNING)
    try:
        return Path(pooch.retrieve(str(entry.url), known_hash=checksum, fname=name, path=cache, downloader=download))
    except Exception as error:
        raise DatasetNotFoundError(
            f"{entry.name} could not be fetched from {entry.url} ({error}). Fetch it by other means, or put it at "
            f"{where_to_put(entry.parts['full'])}."
        ) from None  # its frames are pages of the network libraries' own
    finally:
        logger.setLevel(level)
