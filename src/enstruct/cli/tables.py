"""The table that every comparison ends with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

WORDS = ("method", "rule")
"""Columns that hold words; the others hold numbers."""


def say(*lines: Any) -> None:
    """Plain text: brackets in names of files are no markup."""
    Console().print(*lines, highlight=False, soft_wrap=True, markup=False)


def counted(numbers: Mapping[str, int]) -> str:
    """As "80 sentences, 300 tokens"."""
    return ", ".join(f"{number} {what}" for what, number in numbers.items())


def show(title: str, titles: Sequence[str], rows: Sequence[Sequence[str]], foot: str, environment: dict[str, Any]) -> None:
    table = Table(title=escape(title))
    for name in titles:
        table.add_column(name, justify="left" if name in WORDS else "right")
    for row in rows:
        table.add_row(*row)
    console = Console(width=200)
    console.print(table)
    where = f"enstruct {environment['enstruct']}, torch {environment['torch']}, {environment['threads']} threads."
    say(f"{foot} {where}")
