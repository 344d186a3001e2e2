"""Figures as plain rows: the path of every entry, and its number as it is printed."""

from __future__ import annotations

from typing import Any

from enstruct_bench.comparison.quantity import Quantity, Value


def value_of(entry: Any) -> Value:
    """As tables have it."""
    if isinstance(entry, float):
        return Quantity(entry, form=".4g")
    return entry if isinstance(entry, int) and not isinstance(entry, bool) else str(entry)


def flat(figures: dict[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    """(path, value) of every entry that is no dictionary."""
    rows: list[tuple[str, Any]] = []
    for key, value in figures.items():
        rows += flat(value, f"{prefix}{key} · ") if isinstance(value, dict) else [(prefix + key, value)]
    return rows
