"""A page: its head, its sections with a list of them, its foot. One file, which asks for nothing and runs nothing.

The page's own security policy forbids scripts and everything that would have to be fetched, so that it stays so even where a
browser is asked to add something.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from enstruct.report.markup import Markup, element, joined
from enstruct.report.style import style_sheet

MANY = 12
"""Sections from which on their list stands in columns."""
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


@dataclass(frozen=True)
class Section:
    """A part of a page: ``name`` is its address within it, letters and hyphens. ``leaf``: it begins a new leaf on paper."""

    name: str
    title: str
    blocks: Sequence[Markup] = field(default_factory=list)
    leaf: bool = False


def document(
    title: str, kind: str, lede: Any, sections: Sequence[Section], *, warning: Any = None, foot: Sequence[Any] = ()
) -> Markup:
    """The whole file. ``kind``: a word or two above the title; ``lede``: a sentence or two below; ``foot``: lines at the end."""
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", http_equiv="Content-Security-Policy", content=POLICY),
        element("meta", name="generator", content="enstruct"),
        element("title", f"{title} – {kind}"),
        element("style", Markup(style_sheet())),
    )
    listed = (element("li", element("a", section.title, href=f"#{section.name}")) for section in sections)
    body = element(
        "body",
        element(
            "header",
            element("p", kind, class_="kind"),
            element("h1", title),
            element("p", lede, class_="lede"),
            *([] if warning is None else [element("p", warning, class_="warning", role="note")]),
        ),
        "\n",
        element("nav", element("ol", *listed, class_="many" if len(sections) > MANY else None), aria_label="Sections"),
        "\n",
        element("main", *(_laid_out(section) for section in sections)),
        "\n",
        element("footer", *(element("p", line) for line in foot)),
    )
    return joined(Markup("<!DOCTYPE html>\n"), element("html", head, "\n", body, lang="en"), "\n")


def _laid_out(section: Section) -> Markup:
    heading = element("h2", section.title, id=f"{section.name}-title")
    return element(
        "section",
        heading,
        *(joined("\n", block) for block in section.blocks),
        id=section.name,
        class_="leaf" if section.leaf else None,
        aria_labelledby=f"{section.name}-title",
    )
