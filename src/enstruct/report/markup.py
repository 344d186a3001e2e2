"""HTML that is known to be safe: whatever is no :class:`Markup` is text, and is escaped where it is put into an element.

A name of a label, a row of a file or a path can so hold what it wants, and comes out as the characters that it has.
"""

from __future__ import annotations

import html
import re
from typing import Any

VOID = frozenset({"meta", "img", "br", "hr"})
"""Elements without an end tag."""
UNPRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
"""Characters that no HTML file may hold, and half characters, which UTF-8 lacks."""


class Markup(str):
    """Text that is HTML already."""


def escaped(value: Any) -> Markup:
    """A value as HTML shows it; :class:`Markup` as it is. What cannot be printed becomes U+FFFD."""
    if isinstance(value, Markup):
        return value
    return Markup(html.escape(UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", str(value)), quote=True))


def joined(*parts: Any, between: str = "") -> Markup:
    """The parts one after another, each escaped."""
    return Markup(escaped(between).join(escaped(part) for part in parts))


def element(tag: str, *children: Any, **attributes: Any) -> Markup:
    """``<tag attributes>children</tag>``, with everything escaped that is no markup.

    An underscore in the name of an attribute is a hyphen, one at its end is left out (``class_``); an attribute of None is not
    there, one of True has no value.
    """
    written = ""
    for name, value in attributes.items():
        if value is None or value is False:
            continue
        named = name.rstrip("_").replace("_", "-")
        written += f" {named}" if value is True else f' {named}="{escaped(value)}"'
    if tag in VOID:
        return Markup(f"<{tag}{written}>")
    return Markup(f"<{tag}{written}>{joined(*children)}</{tag}>")


def cut(text: Any, most: int) -> str:
    """``text`` in one line, its end left out where it is longer than ``most`` characters."""
    line = " ".join(str(text).split())
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"
