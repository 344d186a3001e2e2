"""Pieces that the sections of the results page share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def markdown_table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return ["| " + " | ".join(titles) + " |", "|" + "---|" * len(titles), *("| " + " | ".join(row) + " |" for row in rows), ""]


def where_it_ran(environment: dict[str, Any]) -> str:
    """Versions and machine."""
    where = environment
    machine = where.get("processor") or where["machine"]
    return (
        f"enstruct {where['enstruct']}, torch {where['torch']}, Python {where['python']}, {machine}, "
        f"{where['threads']} of {where['cores']} cores."
    )


def set_for_all(given: dict[str, Any], defaults: dict[str, Any]) -> str:
    """What all rows were given that is not the estimator's default, with a space before it; empty for nothing."""
    changed = [f"{name}={value}" for name, value in given.items() if value != defaults.get(name)]
    return f" Set for all rows: {', '.join(changed)}." if changed else ""
