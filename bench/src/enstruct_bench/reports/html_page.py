"""The results page as one HTML file, which refers to nothing outside of itself: from the summaries that the page is printed from.

Texts of summaries are Markdown of few kinds: headings, paragraphs, lists, code, links, of which the words are left, as what they
lead to lies elsewhere. Figures with an interval have it drawn beside them, every one of a column on the same axis.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from enstruct.report.blocks import figure_cell, paragraph, table
from enstruct.report.markup import Markup, element, joined
from enstruct.report.page import Section, document
from enstruct.report.whiskers import interval_bar
from enstruct_bench.comparison.quantity import Quantity, Value
from enstruct_bench.reports.results import HEAD, on_page
from enstruct_bench.reports.summaries import read_blocks, read_summary

INLINE = re.compile(r"`(?P<code>[^`]+)`|!?\[(?P<words>[^\]]*)\]\([^)\s]*\)|\*\*(?P<strong>[^*]+)\*\*")


def results_page(results: Path) -> Markup:
    """The whole file, from RESULTS/summaries. DataError for a summary that is damaged."""
    title, _, about = HEAD.partition("\n")
    sections = [Section("about", "How to read this", [*_texts(about, 0)])]
    for number, path in enumerate(on_page(results)):
        sections.append(_section(number, path))
    n = len(sections) - 1
    lede = f"Every comparison that the laboratory keeps a summary of: {n} sections, printed from results/summaries."
    foot = ["Made by enstruct-bench report. This file holds all that it shows, and asks for nothing."]
    return document(title.strip("# "), "enstruct-bench report", lede, sections, foot=foot)


def _section(number: int, path: Path) -> Section:
    """The title is the first heading of the summary, else its name."""
    blocks: list[Markup] = []
    title, tables = "", 0
    for block in read_blocks(path):
        if isinstance(block, str):
            found = re.match(r"\s*#{2,3} (.+)", block)
            if found and not title:
                title, block = _plain(found[1]), block[found.end() :]
            blocks += _texts(block, number)
        else:
            tables += 1
            columns, rows = block
            blocks.append(_table(f"s{number}-{tables}", title or path.stem, columns, rows))
    origin = read_summary(path)["from"]
    if origin["runs"]:
        versions = ", ".join(origin["versions"])
        said = f"{origin['runs']:,} runs" + (f" of {len(origin['seeds'])} seeds" if origin["seeds"] else "")
        blocks.append(paragraph(f"From {said}; {versions}." if versions.strip() else f"From {said}.", quiet=True, small=True))
    return Section(f"section-{number}", title or path.stem, blocks)


def _table(name: str, title: str, columns: Sequence[str], rows: Sequence[Sequence[Value]]) -> Markup:
    """Columns that hold a quantity or a number anywhere stand to the right; the ends of a column's intervals make its axis."""
    words = [i for i in range(len(columns)) if i == 0 or not any(isinstance(row[i], (int, Quantity)) for row in rows)]
    axes = [_axis([row[i] for row in rows]) for i in range(len(columns))]
    body = [[_cell(f"{name}-{at}-{i}", columns[i], value, axes[i]) for i, value in enumerate(row)] for at, row in enumerate(rows)]
    return table(_plain(title), [_inline(column) for column in columns], body, words=words)


def _axis(values: Sequence[Value]) -> tuple[float, float] | None:
    """From the least end of an interval to the greatest, 0 among them where differences are."""
    ends = [end for value in values if isinstance(value, Quantity) for end in (value.low, value.high) if end is not None]
    return (min(0.0, *ends), max(0.0, *ends)) if ends else None


def _cell(name: str, column: str, value: Value, axis: tuple[float, float] | None) -> Any:
    if not isinstance(value, Quantity):
        return _inline(value) if isinstance(value, str) else f"{value:,}"
    said = str(value).replace("-", "−")
    if value.low is None or value.high is None or axis is None:
        return said
    title = f"{_plain(column)}: {value}"
    return figure_cell(said, interval_bar(name, title, value.mean, value.low, value.high, *axis))


def _texts(text: str, number: int) -> Iterator[Markup]:
    """Headings, paragraphs and lists; lines that follow one another are one paragraph."""
    lines: list[str] = []
    items: list[Markup] = []

    def ended() -> Iterator[Markup]:
        if lines:
            yield paragraph(_inline(" ".join(lines)))
        if items:
            yield element("ul", *items)
        lines.clear()
        items.clear()

    for line in text.splitlines():
        heading = re.match(r"#{2,6} (.+)", line)
        if heading or not line.strip():
            yield from ended()
        if heading:
            yield element("h3", _inline(heading[1]))
        elif line.startswith("- "):
            if lines:
                yield from ended()
            items.append(element("li", _inline(line[2:])))
        elif line.strip():
            if items:
                yield from ended()
            lines.append(line.strip())
    yield from ended()


def _inline(text: str) -> Markup:
    """Code and strong words as such, links as their words."""
    parts: list[Any] = []
    at = 0
    for found in INLINE.finditer(text):
        parts.append(text[at : found.start()])
        if found["code"] is not None:
            parts.append(element("code", found["code"]))
        elif found["strong"] is not None:
            parts.append(element("strong", found["strong"]))
        else:
            parts.append(found["words"])
        at = found.end()
    return joined(*parts, text[at:])


def _plain(text: str) -> str:
    """Words alone."""
    return INLINE.sub(lambda found: found["code"] or found["words"] or found["strong"] or "", text).strip()
