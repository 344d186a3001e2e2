"""How the commands that compare methods show their table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from enstruct.cli.tables import say
from enstruct_bench.comparison.quantity import Value


def show(title: str, titles: Sequence[str], rows: Sequence[Sequence[Value]], foot: str, environment: dict[str, Any]) -> None:
    """Print the table; columns called method and rule hold words, the others numbers."""
    table = Table(title=escape(title))
    for name in titles:
        table.add_column(name, justify="left" if name in ("method", "rule") else "right")
    for row in rows:
        table.add_row(*map(str, row))
    console = Console(width=200)
    console.print(table)
    where = f"enstruct {environment['enstruct']}, torch {environment['torch']}, {environment['threads']} threads."
    say(f"{foot} {where}")
