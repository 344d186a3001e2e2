"""Sentences with their spans marked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from enstruct.data.tag_schemes import find_spans, spells_span
from enstruct.report.confusion import OUTSIDE
from enstruct.report.markup import Markup, cut, element, joined

TOKENS = 60
"""Of a sentence that are shown."""


def marked(words: Sequence[str], tags: Sequence[str]) -> Markup:
    """A sentence with its spans marked, or, of plain tags, each word with its tag."""
    parts: list[Any] = []
    shown, at = min(len(words), TOKENS), 0
    others = set(tags) - {OUTSIDE}
    if not all(map(spells_span, others)):
        parts = [_span(word, tag) for word, tag in zip(words[:shown], tags, strict=False)]
    else:
        for span in sorted(find_spans(list(tags)), key=lambda one: one.start):
            if span.start >= shown:
                break
            parts += [*words[at : span.start], _span(" ".join(words[span.start : min(span.end, shown)]), span.type)]
            at = span.end
        parts += words[at:shown]
    return joined(
        *(cut(part, 60) if not isinstance(part, Markup) else part for part in parts), *["…"] * (shown < len(words)), between=" "
    )


def _span(text: str, kind: str) -> Markup:
    return element("span", cut(text, 80), element("small", kind), class_="span")
