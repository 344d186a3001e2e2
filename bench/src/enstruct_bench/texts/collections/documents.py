"""Documents with label sets, and a collection of them: what readers make of publishers' files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


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


class Labelled(NamedTuple):
    text: str
    labels: Sequence[str]


def as_documents(rows: Iterable[Labelled], names: Sequence[str]) -> Documents:
    """Rows that have one of these labels at least."""
    number = {name: k for k, name in enumerate(names)}
    kept = [(row.text, [number[one] for one in row.labels if one in number]) for row in rows]
    kept = [row for row in kept if row[1]]
    Y = np.zeros((len(kept), len(names)), dtype=np.uint8)
    for i, (_, labels) in enumerate(kept):
        Y[i, labels] = 1
    return Documents([text for text, _ in kept], Y, tuple(names))


def as_collection(train: Sequence[Labelled], test: Sequence[Labelled]) -> Collection:
    """Of all labels that training documents have."""
    names = sorted({label for row in train for label in row.labels})
    return Collection(as_documents(train, names), as_documents(test, names))
