"""Tagged sentences in memory: tokens and tags as people have them, and the named sets.

A token is a word, or a tuple of a word and further columns (part of speech, chunk, ...).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from enstruct.data.catalogue import INLINE, data_root, not_passed_on
from enstruct.data.catalogue import TAGGED as TAGGED
from enstruct.data.citations import read_citations, read_references
from enstruct.data.conll import read_conll
from enstruct.data.opening import is_file
from enstruct.errors import DataError, DatasetNotFoundError, unknown_name

Token = str | tuple[str, ...]


@dataclass(frozen=True)
class Tagged:
    """``tags`` is None for a file without them; ``known``: tags that a model is told, None in their places where it is not."""

    sentences: Sequence[list[Token]]
    tags: Sequence[list[str]] | None
    name: str = ""
    known: list[list[str | None]] | None = None

    def __len__(self) -> int:
        return len(self.sentences)

    @property
    def n_tokens(self) -> int:
        return sum(map(len, self.sentences))

    def take(self, index: Sequence[int] | NDArray[Any]) -> Tagged:
        tags = None if self.tags is None else [self.tags[i] for i in index]
        return replace(self, sentences=[self.sentences[i] for i in index], tags=tags)

    def truth(self) -> Sequence[list[str]]:
        """The tags; DataError if the file has none."""
        if self.tags is None:
            raise DataError(f"{self.name or 'the data'} has no tags: every line holds the word alone.")
        return self.tags


def told_at_random(tags: Sequence[Sequence[str]], share: float, seed: int) -> list[list[str | None]]:
    """The tags of a share of each sentence's tokens, the nearest whole number of them, None for the others."""
    rng, out = np.random.default_rng([seed, 7]), list[list[str | None]]()
    for row in tags:
        place = rng.random(len(row)).argsort().argsort()
        out.append([tag if at < round(share * len(row)) else None for tag, at in zip(row, place, strict=True)])
    return out


def read_tagged(path: Path | str, columns: Sequence[int] = (), labelled: bool = True, inline: bool | None = None) -> Tagged:
    """A file of CoNLL columns, or of inline-tagged references (``.tagged`` or ``.cite`` in its name), compressed or not.

    columns : which further columns stand beside the word (0 is the word); only CoNLL files have them.
    labelled : whether the last column is the tag.
    inline : whether references are tagged inline, whatever the file is called; None goes by the name.
    """
    path = Path(path)
    inline = is_inline(path) if inline is None else inline
    if not is_file(path):
        raise DatasetNotFoundError(f"There is no file {path}, and no tagged set of that name: {', '.join(TAGGED)}.")
    if inline:
        sentences, tags = read_citations(path) if labelled else (read_references(path), None)
        return Tagged([[*words] for words in sentences], tags, path.name)
    return Tagged(*read_conll(path, columns, labelled), path.name)


def is_inline(path: Path | str) -> bool:
    """Whether the name says that references are tagged inline."""
    return any(suffix in INLINE for suffix in Path(path).suffixes)


def load_tagged(source: str, part: str, columns: Sequence[int] = ()) -> Tagged:
    """A part of a named set, or a file (whatever the part)."""
    if source not in TAGGED:
        return read_tagged(source, columns)
    parts = TAGGED[source]
    if part not in parts:
        raise unknown_name(f"part of {source} (--part)", part, parts)
    root = data_root()
    if root is None or not (root / parts[part]).is_file():
        raise not_passed_on(f"{source} ({part})", parts[part])
    return replace(read_tagged(root / parts[part], columns), name=source)
