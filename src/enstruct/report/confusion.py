"""The section on which types of tags are taken for which."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from enstruct.data.tag_schemes import spells_span
from enstruct.report.blocks import counted, figure, paragraph, share, table, whole
from enstruct.report.heat import heat_table
from enstruct.report.markup import cut
from enstruct.report.page import Section

Tags = Sequence[Sequence[str]]
OUTSIDE = "O"
TYPES = 16
"""That are shown at most, the most frequent ones."""


def type_of(tag: str) -> str:
    """PER of B-PER; a tag that spells out no span as it is."""
    return tag[2:] if spells_span(tag) else tag


class Confusion(NamedTuple):
    """``types``, the most frequent first, O the last; ``tokens`` (types, types) that have the one and were given the other;
    ``beyond`` (types,): tokens that were given a type that is not among these; ``n_types``: how many there are."""

    types: list[str]
    tokens: NDArray[np.int64]
    beyond: NDArray[np.int64]
    n_types: int


def confusion(truth: Tags, predicted: Tags) -> Confusion:
    """Of up to ``TYPES`` types."""
    pairs = Counter((type_of(a), type_of(b)) for t, g in zip(truth, predicted, strict=True) for a, b in zip(t, g, strict=True))
    often = Counter[str]()
    for (a, b), n in pairs.items():
        often[a] += n
        often[b] += 0
    names = [name for name, _ in often.most_common() if name != OUTSIDE][: TYPES - 1] + ([OUTSIDE] if OUTSIDE in often else [])
    place = {name: i for i, name in enumerate(names)}
    out = np.zeros((len(names), len(names)), dtype=np.int64)
    beyond = np.zeros(len(names), dtype=np.int64)
    for (a, b), n in pairs.items():
        if a in place and b in place:
            out[place[a], place[b]] += n
        elif a in place:
            beyond[place[a]] += n
    return Confusion(names, out, beyond, len(often))


def confusion_section(truth: Tags, predicted: Tags) -> Section:
    names, n, beyond, n_types = confusion(truth, predicted)
    cut_off = n_types > len(names)
    wrong = n * (1 - np.eye(len(names), dtype=np.int64))
    said = [
        [f"{names[i]} answered as {names[j]}: {counted(int(n[i, j]), 'token')}" for j in range(len(names))]
        for i in range(len(names))
    ]
    rows = []
    for i, name in enumerate(names):
        cells = [*n[i], *([beyond[i]] if cut_off else [])]
        right = share(n[i, i] / max(1, n[i].sum() + beyond[i])) + "%"
        rows.append([cut(name, 30), *(whole(int(cell)) for cell in cells), right])
    columns = ["true", *(cut(name, 12) for name in names), *(["others"] if cut_off else []), "right"]
    shown = f" The {len(names)} most frequent of {n_types} types are shown." if cut_off else ""
    blocks = [
        paragraph(
            "Tokens by the type of their true and of their predicted tag; the drawing leaves out those that are right." + shown
        ),
        figure(
            heat_table(
                "confusion-table",
                "Tokens of one type that were given another",
                names,
                names,
                wrong.astype(np.float64),
                said,
                ("true", "predicted"),
            )
        ),
        table("Tokens: true types down, predicted ones across.", columns, rows),
    ]
    return Section("confusion", "What is taken for what", blocks, leaf=True)
