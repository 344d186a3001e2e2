"""What commands say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console

from enstruct.cli.main import flush_or_drop
from enstruct.errors import MOST_CHARACTERS, shortened


def say(*lines: Any) -> None:
    """Plain text: brackets in names of files are no markup."""
    Console().print(*lines, highlight=False, soft_wrap=True, markup=False)


def counted(numbers: Mapping[str, int]) -> str:
    """As "80 sentences, 300 tokens"."""
    return ", ".join(f"{number} {what}" for what, number in numbers.items())


def refused(why: str) -> int:
    """Say why a command is refused, in one line on stderr; returns the exit code."""
    Console(stderr=True, soft_wrap=True).print(
        f"error: {shortened(why, MOST_CHARACTERS)}", style="red", markup=False, highlight=False
    )
    flush_or_drop()
    return 2
