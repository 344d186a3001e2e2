"""What sections are made of: paragraphs, facts, tables, figures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from enstruct.report.markup import Markup, element, joined


def paragraph(*parts: Any, quiet: bool = False, small: bool = False) -> Markup:
    """Text, and markup within it."""
    return element("p", *parts, class_=" ".join(["quiet"] * quiet + ["small"] * small) or None)


def facts(of: Mapping[str, Any]) -> Markup:
    """Names of figures, and these; without those that are None."""
    return element(
        "dl", *(element("div", element("dt", name), element("dd", value)) for name, value in of.items() if value is not None)
    )


def table(
    caption: Any,
    columns: Sequence[Any],
    rows: Iterable[Sequence[Any]],
    *,
    words: Iterable[int] = (0,),
    chosen: Iterable[int] = (),
    heads: bool = True,
) -> Markup:
    """A table whose first column heads its rows.

    words : numbers of the columns that hold words; the others hold numbers, which stand to the right.
    chosen : numbers of rows that are marked. heads : whether the first column is that of the rows' names.
    """
    words, chosen = {*words}, {*chosen}
    align = [None if i in words else "number" for i in range(len(columns))]
    heading = [
        element("th", name, scope="col", class_=align[i]) if name else element("td", class_=align[i])
        for i, name in enumerate(columns)
    ]
    top = element("tr", *heading)
    body = []
    for number, row in enumerate(rows):
        cells = [
            element("th", value, scope="row", class_=align[i]) if heads and i == 0 else element("td", value, class_=align[i])
            for i, value in enumerate(row)
        ]
        body.append(joined("\n", element("tr", *cells, class_="chosen" if number in chosen else None)))
    whole = element("table", element("caption", caption), element("thead", top), element("tbody", *body))
    return element("div", whole, class_="wide", role="region", aria_label=caption_words(caption), tabindex="0")


def caption_words(caption: Any) -> str:
    """A caption as a name for those who hear the page: its first sentence."""
    return str(caption).partition(". ")[0][:120] if not isinstance(caption, Markup) else "table"


def figure(drawing: Markup, *caption: Any) -> Markup:
    """A drawing, and what it shows."""
    return element("figure", drawing, element("figcaption", *caption) if caption else "")


def beside(*blocks: Markup) -> Markup:
    """Blocks next to one another where there is room."""
    return element("div", *(element("div", block) for block in blocks), class_="pair")


def ranged(value: Any, low: Any, high: Any) -> Markup:
    """A figure with its interval below it."""
    return joined(value, " ", element("span", f"{low} – {high}", class_="range"))


def figure_cell(said: Any, drawing: Markup) -> Markup:
    """A figure with a small drawing below it, for a table."""
    return joined(said, element("span", drawing, class_="under"))


def share(value: float | None, digits: int = 1) -> str:
    """In percent, "–" for what is none."""
    return "–" if value is None or value != value else f"{100 * value:.{digits}f}"


def whole(value: int) -> str:
    """12,345."""
    return f"{value:,}"


def signed(value: float, digits: int = 2) -> str:
    """With its sign, a true minus."""
    return f"{value:+.{digits}f}".replace("-", "−")


def signed_shortly(value: float) -> str:
    """With its sign and two digits behind the point, or two that say something where it is small."""
    return signed(value) if abs(value) >= 0.1 or value == 0 else f"{value:+.2g}".replace("-", "−")


def plain(value: float, digits: int = 2) -> str:
    """With a true minus; "–" for what is none."""
    return "–" if value != value else f"{value:.{digits}f}".replace("-", "−")


def counted(number: int, thing: str, things: str = "") -> str:
    """As "1 row" and "1,500 rows"."""
    return f"{number:,} {thing if number == 1 else things or thing + 's'}"
