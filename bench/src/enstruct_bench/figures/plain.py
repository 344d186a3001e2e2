"""Figures as plain rows: the path of every entry, and its number as it is printed."""

from __future__ import annotations

from typing import Any


def text(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def flat(figures: dict[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    """(path, value) of every entry that is no dictionary."""
    rows: list[tuple[str, Any]] = []
    for key, value in figures.items():
        rows += flat(value, f"{prefix}{key} · ") if isinstance(value, dict) else [(prefix + key, value)]
    return rows
