"""Whether a field of a file is a number, for readers that say which is none."""

from __future__ import annotations


def is_number(text: str) -> bool:
    """As ``float`` takes it."""
    try:
        float(text)
    except ValueError:
        return False
    return True
