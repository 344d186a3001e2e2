"""The user's tags and the trained ones: spans are trained as BIOES, whatever scheme they are written in, and come back in it."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from enstruct.data.rows import Rows
from enstruct.data.sentences import TagSequences, offsets_of
from enstruct.data.tag_schemes import (
    AS_BIOES,
    SCHEMES,
    Scheme,
    Span,
    convert,
    find_scheme,
    find_spans,
    spells_span,
    tags_of_scheme,
)
from enstruct.errors import ConfigError, DataError, shown, unknown_name
from enstruct.estimators.label_rows import proportional, row_weights
from enstruct.estimators.token_format import Token, TokenFormat, check_pairs
from enstruct.rules.tags import tag_may_be

log = logging.getLogger("enstruct")
Tags = Sequence[Sequence[str | None]]


@dataclass(frozen=True)
class TagFormat:
    """``tags``: the trained ones, in order; ``user_scheme``: None for plain tags."""

    tags: tuple[str, ...]
    user_scheme: Scheme | None

    def __post_init__(self) -> None:
        if not self.tags or len(set(self.tags)) < len(self.tags):
            raise ValueError("the tags are not different")
        if self.user_scheme is not None and list(self.tags) != tags_of_scheme(self.types, "BIOES"):
            raise ValueError("the tags are not those of BIOES")

    @property
    def types(self) -> set[str]:
        """Of spans."""
        return {tag[2:] for tag in self.tags if tag != "O"}

    @classmethod
    def fit(cls, tags: Tags, scheme: str | None = "auto", classes: Sequence[str] | None = None) -> TagFormat:
        """``scheme``: "auto" looks at the tags, None takes them as they are; ``classes``: further tags. ConfigError."""
        rows = without_holes(tags)
        further = [] if classes is None else list(classes)
        known = {tag for row in rows for tag in row} | {*further}
        if not known:
            raise DataError("There is no tag in these sentences.")
        if scheme not in (None, "auto", *SCHEMES):
            raise unknown_name("tag scheme", scheme, ("auto", *SCHEMES))
        spelt = find_scheme(known, rows)
        if scheme is None or spelt is None:
            if scheme in SCHEMES:
                odd = sorted(tag for tag in known if tag != "O" and not spells_span(tag)) or sorted(known)
                raise ConfigError(f"scheme={scheme!r}, but the tags do not spell out spans: {', '.join(odd[:5])}.")
            if scheme == "auto" and sum(map(spells_span, known)) > len(known) / 2:
                odd = sorted(tag for tag in known if tag != "O" and not spells_span(tag)) or sorted(known)
                log.warning("the tags are taken as plain ones, not as spans, for the sake of %s", ", ".join(odd[:5]))
            return cls(tuple(sorted(known)), None)
        written: Scheme = spelt if scheme == "auto" else scheme  # type: ignore[assignment]
        whole = [row for row, with_holes in zip(rows, tags, strict=True) if len(row) == len(with_holes)]
        mended = sum(convert(row, written) != row for row in whole)
        if mended:
            text = "%d of %d sentences have tags that %s does not allow; they are read as the standard scorer reads them"
            log.warning(text, mended, len(rows), written)
        types = {span.type for row in rows for span in find_spans(row)} | {tag[2:] for tag in further if tag != "O"}
        return cls(tuple(tags_of_scheme(types, "BIOES")), written)

    @property
    def user_tags(self) -> set[str]:
        """Every tag that predictions may hold, as the user writes them."""
        if self.user_scheme is None:
            return set(self.tags)
        return set(tags_of_scheme(self.types, self.user_scheme))

    @property
    def scheme(self) -> Scheme | None:
        """Of the trained tags."""
        return None if self.user_scheme is None else "BIOES"

    def metric(self, name: str) -> str:
        """The metric of that name; "auto" is spans where the tags spell them out. ConfigError for spans that are not there."""
        spans = self.user_scheme is not None
        if name == "span-f1" and not spans:
            raise ConfigError(
                "metric='span-f1' needs tags that spell out spans (IOB1, IOB2, BIOES, BILOU); these are plain tags."
            )
        return name if name != "auto" else "span-f1" if spans else "accuracy"

    def encode(self, tags: Tags) -> TagSequences:
        """None, a hole, becomes -1. DataError for a tag that training has not seen."""
        number = {tag: i for i, tag in enumerate(self.tags)}
        flat = []
        for i, row in enumerate(tags):
            if self.user_scheme is not None and (
                odd := next((tag for tag in row if tag not in (None, "O") and not spells_span(tag)), None)
            ):
                raise DataError(f"Sentence {i} has the tag {shown(odd)}, which is no tag of a span as those of training are.")
            for tag, name in zip(row, row if self.user_scheme is None else self._trained(row), strict=True):
                if name is not None and name not in number:
                    raise DataError(
                        f"Sentence {i} has the tag {shown(tag)}, which training has not seen: {', '.join(self.tags)}."
                    )
                flat.append(-1 if name is None else number[name])
        return TagSequences(np.array(flat, dtype=np.int64), offsets_of([len(row) for row in tags]), len(self.tags))

    def allowed(self, row: Sequence[str | None]) -> NDArray[np.bool_]:
        """(tokens, tags) of a sentence with open tags: which of the trained ones each token may have."""
        if None not in row:
            return np.eye(len(self.tags), dtype=bool)[[self.tags.index(cast(str, name)) for name in self._trained(row)]]
        return np.array([[tag is None or tag_may_be(tag, one, self.user_scheme) for one in self.tags] for tag in row])

    def _trained(self, row: Sequence[str | None]) -> list[str | None]:
        """A sentence in BIOES. Spans may go on in a hole: BIOES and BILOU say so, and are trained as written there; in IOB2 an I
        behind a hole goes on; else spans are taken to begin and to end beside holes."""
        names: list[str | None] = []
        for known, group in groupby(row, key=lambda tag: tag is not None):
            part = [cast(str, tag) for tag in group]
            if not known:
                names += [None] * len(part)
                continue
            before, after = len(names) > 0, len(names) + len(part) < len(row)
            if self.user_scheme == "IOB2" and before and part[0][0] == "I":
                names += convert([f"B{part[0][1:]}", *part], "BIOES")[1:]
                continue
            read = convert(part, "BIOES")
            if self.user_scheme in ("BIOES", "BILOU"):
                for span in find_spans(part):
                    if (before and span.start == 0) or (after and span.end == len(part)):
                        read[span.start : span.end] = [
                            AS_BIOES.get(tag[0], tag[0]) + tag[1:] for tag in part[span.start : span.end]
                        ]
            names += read
        return names

    def as_given(self, tags: Tags) -> list[list[str]]:
        """The tags of each sentence without holes, in the user's scheme whatever scheme they are in; plain ones as they are."""
        rows = without_holes(tags)
        if self.user_scheme is None:
            return rows
        return [convert(row, self.user_scheme) if all(tag == "O" or spells_span(tag) for tag in row) else row for row in rows]

    def write(self, numbers: NDArray[Any]) -> list[str]:
        """The user's tags of one sentence without holes."""
        names = [self.tags[k] for k in numbers]
        return names if self.user_scheme is None else convert(names, self.user_scheme)

    def names(self, tags: TagSequences) -> list[list[str]]:
        """As :meth:`decode`, without the holes."""
        return without_holes(self.decode(tags))

    def decode(self, tags: TagSequences) -> list[list[Any]]:
        """Numbers to the user's tags; holes come back as None."""
        out: list[list[Any]] = []
        for row in tags.split():
            names = [self.tags[k] for k in row if k >= 0]
            written = iter(names if self.user_scheme is None else convert(names, self.user_scheme))
            out.append([None if k < 0 else next(written) for k in row])
        return out


def spans_around_holes(tags: Sequence[str | None]) -> list[Span]:
    """Spans of the tags that are there, in the places of all tokens."""
    places = [i for i, tag in enumerate(tags) if tag is not None]
    spans = find_spans([tag for tag in tags if tag is not None])
    return [Span(span.type, places[span.start], places[span.end - 1] + 1) for span in spans]


def blanked(tags: Sequence[Sequence[str]], holes: Sequence[Sequence[bool]]) -> list[list[Any]]:
    """With None in the holes; DataError for holes of other tokens."""
    if [len(row) for row in tags] != [len(row) for row in holes]:
        raise DataError("holes= says of every token of every sentence whether it is one.")
    return [[None if hole else tag for tag, hole in zip(*pair, strict=True)] for pair in zip(tags, holes, strict=True)]


def without_holes(tags: Tags) -> list[list[str]]:
    """The tags of each sentence that are there."""
    return [[tag for tag in row if tag is not None] for row in tags]


Sentence = Sequence[Token]


class Tagged(NamedTuple):
    """A sentence with a tag for each token, None in holes, and its weight."""

    tokens: Sentence
    tags: Sequence[str | None]
    weight: float = 1.0


def tagged(sentences: Any, tags: Any, sample_weight: Any = None) -> list[Tagged]:
    """Those that have a tag, and a weight above 0. DataError for pairs that do not go together."""
    check_pairs(sentences, tags)
    weight = np.ones(len(sentences)) if sample_weight is None else row_weights(sample_weight, sentences)
    pairs = map(Tagged, sentences, tags, weight.tolist())
    return [pair for pair in pairs if pair.weight > 0 and any(tag is not None for tag in pair.tags)]


def tagged_rows(
    pairs: Sequence[Tagged], tokens: TokenFormat, tags: TagFormat, unit: float | None = None, open_holes: bool = False
) -> Rows:
    """In numbers, weights over ``unit``, by default their mean. DataError for tags that the format does not know.

    ``open_holes``: tokens without a tag have one that nobody knows; otherwise none.
    """
    numbers = tags.encode([pair.tags for pair in pairs])
    holes = None if open_holes else [(row < 0).tolist() for row in numbers.split()]
    if open_holes and (numbers.tags < 0).any():
        numbers = replace(numbers, allowed=np.concatenate([tags.allowed(pair.tags) for pair in pairs]))
    weight = proportional([pair.weight for pair in pairs], unit)
    return Rows(tokens.encode([pair.tokens for pair in pairs], holes), numbers, weight)
