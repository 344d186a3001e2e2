"""What the commands that compare methods share: names of methods, and the table that they end with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jsonargparse import Namespace
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from enstruct.cli.tables import say
from enstruct.errors import ConfigError, unknown_name


def compared(options: Namespace, check: Callable[[str], object]) -> tuple[list[str], str]:
    """(methods, reference) of a comparison; ``check`` objects to a name that is no method. ConfigError."""
    methods = [name.strip() for name in options.methods.split(",") if name.strip()]
    if not methods or len(set(methods)) < len(methods) or options.seeds < 1:
        raise ConfigError("Give at least one seed and distinct methods, joined by commas.")
    for name in methods:
        check(name)
    reference = options.reference or methods[0]
    if reference not in methods:
        raise unknown_name("reference", reference, methods)
    return methods, reference


def show(title: str, titles: Sequence[str], rows: Sequence[Sequence[str]], foot: str, environment: dict[str, Any]) -> None:
    """Print the table; columns called method and rule hold words, the others numbers."""
    table = Table(title=escape(title))
    for name in titles:
        table.add_column(name, justify="left" if name in ("method", "rule") else "right")
    for row in rows:
        table.add_row(*row)
    console = Console(width=200)
    console.print(table)
    where = f"enstruct {environment['enstruct']}, torch {environment['torch']}, {environment['threads']} threads."
    say(f"{foot} {where}")
