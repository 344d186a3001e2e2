"""Tags that spell out spans: IOB1, IOB2, BIOES and BILOU, and the way from one to the other.

    IOB1    I-X in a span of type X, B-X where one begins right after another of the same type
    IOB2    B-X begins every span, I-X goes on
    BIOES   S-X a span of one token; else B-X, I-X ..., E-X
    BILOU   the same with U for S and L for E

Spans are read as the standard scorer reads them (conlleval; here seqeval's): a tag that cannot follow its predecessor begins a
new span, so every sequence has a reading.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from enstruct.errors import DataError, unknown_name

Scheme = Literal["IOB1", "IOB2", "BIOES", "BILOU"]
SCHEMES: tuple[Scheme, ...] = ("IOB1", "IOB2", "BIOES", "BILOU")
PREFIXES: dict[Scheme, str] = {"IOB1": "BI", "IOB2": "BI", "BIOES": "BIES", "BILOU": "BILU"}
AS_BIOES = {"L": "E", "U": "S"}


class Span(NamedTuple):
    """Tokens ``start`` to ``end``, the latter not included."""

    type: str
    start: int
    end: int


def find_scheme(tags: Iterable[str], sequences: Iterable[Sequence[str]] | None = None) -> Scheme | None:
    """The scheme these tags are written in, by their prefixes; None if they do not spell out spans.

    IOB1 and IOB2 have the same tags; ``sequences`` tell them apart: in IOB2 spans begin with B, in IOB1 most do not.
    """
    known = set(tags)
    prefixes = {tag.partition("-")[0] for tag in known if tag != "O"}
    if not known - {"O"} or not all(map(spells_span, known - {"O"})):
        return None
    if prefixes - set("BI"):
        return next((scheme for scheme in SCHEMES if prefixes <= set(PREFIXES[scheme])), None)
    with_b = without = 0
    for tags in sequences or ():
        for before, tag in pairwise(("O", *tags)):
            with_b += tag[0] == "B"
            without += tag[0] == "I" and (before == "O" or before[2:] != tag[2:])
    return "IOB1" if without > with_b else "IOB2"


def spells_span(tag: str) -> bool:
    """Whether it is a tag of a span in one of the schemes: B-X, I-X, E-X, S-X, L-X or U-X."""
    return len(tag) > 1 and tag[0] in "BIESLU" and tag[1] == "-"


def find_spans(tags: Sequence[str]) -> list[Span]:
    """The spans of one sentence, in any of the schemes."""
    from seqeval.metrics.sequence_labeling import get_entities  # only here: it imports sklearn.metrics

    known = [AS_BIOES[tag[0]] + tag[1:] if spells_span(tag) and tag[0] in AS_BIOES else tag for tag in tags]
    return [Span(kind, start, end + 1) for kind, start, end in get_entities(known)] if known else []


def write_spans(spans: Iterable[Span], length: int, scheme: Scheme) -> list[str]:
    """The tags of a sentence of this length. DataError if spans overlap or lie outside."""
    if scheme not in SCHEMES:
        raise unknown_name("tag scheme", scheme, SCHEMES)
    tags = ["O"] * length
    for span in sorted(spans, key=lambda span: span.start):
        if not 0 <= span.start < span.end <= length or any(tag != "O" for tag in tags[span.start : span.end]):
            raise DataError(f"{span} overlaps another span or lies outside the sentence of {length} tokens.")
        follows = span.start > 0 and tags[span.start - 1][2:] == span.type
        tags[span.start : span.end] = _tags_of(span, scheme, follows)
    return tags


def _tags_of(span: Span, scheme: Scheme, follows: bool) -> list[str]:
    n, kind = span.end - span.start, span.type
    if scheme in ("BIOES", "BILOU"):
        last, alone = PREFIXES[scheme][2], PREFIXES[scheme][3]
        return [f"{alone}-{kind}"] if n == 1 else [f"B-{kind}", *[f"I-{kind}"] * (n - 2), f"{last}-{kind}"]
    begin = "B" if scheme == "IOB2" or follows else "I"
    return [f"{begin}-{kind}", *[f"I-{kind}"] * (n - 1)]


def convert(tags: Sequence[str], scheme: Scheme) -> list[str]:
    """The same spans in another scheme."""
    return write_spans(find_spans(tags), len(tags), scheme)


def tags_of_scheme(types: Iterable[str], scheme: Scheme) -> list[str]:
    """Every tag of a scheme over these span types, O first."""
    return ["O", *(f"{prefix}-{kind}" for kind in sorted(types) for prefix in PREFIXES[scheme])]


def legal_transitions(
    tags: Sequence[str], scheme: Scheme | None
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]:
    """(tags, tags) whether one may follow the other, (tags,) which may begin a sentence, (tags,) which may end one.

    Without a scheme, in IOB1, and in BILOU, which taggers work with as BIOES, everything may.
    """
    n = len(tags)
    follow, begin, end = np.ones((n, n), dtype=bool), np.ones(n, dtype=bool), np.ones(n, dtype=bool)
    if scheme in ("IOB2", "BIOES"):
        for j, tag in enumerate(tags):
            for i, before in enumerate(tags):
                follow[i, j] = _may_follow(before, tag, scheme)
            begin[j] = tag[0] not in "IE"
            end[j] = scheme == "IOB2" or tag[0] not in "BI"
    return follow, begin, end


def _may_follow(before: str, tag: str, scheme: Scheme) -> bool:
    same = before[2:] == tag[2:]
    if scheme == "IOB2":
        return tag[0] != "I" or (before != "O" and same)
    open_span = before[0] in "BI"
    return (tag[0] in "IE" and same) if open_span else tag[0] not in "IE"
