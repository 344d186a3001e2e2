"""How a command is refused."""

from __future__ import annotations

from rich.console import Console

from enstruct.cli.main import flush_or_drop
from enstruct.cli.parser import shortened


def refused(why: str) -> int:
    """Say why, in one line on stderr; returns the exit code."""
    Console(stderr=True, soft_wrap=True).print(f"error: {shortened(why)}", style="red", markup=False, highlight=False)
    flush_or_drop()
    return 2
