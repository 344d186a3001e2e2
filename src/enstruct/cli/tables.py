"""What commands say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console


def say(*lines: Any) -> None:
    """Plain text: brackets in names of files are no markup."""
    Console().print(*lines, highlight=False, soft_wrap=True, markup=False)


def counted(numbers: Mapping[str, int]) -> str:
    """As "80 sentences, 300 tokens"."""
    return ", ".join(f"{number} {what}" for what, number in numbers.items())
