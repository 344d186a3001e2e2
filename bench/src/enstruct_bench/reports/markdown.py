"""Pieces that the sections of the results page share, and the text that is made of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from enstruct_bench.comparison.quantity import Value


class Table(str):
    """A table in Markdown, which keeps its ``columns`` and the values of its ``rows``."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Value]]

    def __new__(cls, columns: Sequence[str], rows: Sequence[Sequence[Value]]) -> Table:
        lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
        table = super().__new__(cls, "\n".join([*lines, *("| " + " | ".join(map(str, row)) + " |" for row in rows)]))
        table.columns, table.rows = columns, rows
        return table


class Text(str):
    """Markdown, which keeps the ``blocks`` that it is made of: texts and tables, a line break between each and the next."""

    blocks: Sequence[str]

    def __new__(cls, lines: Iterable[str]) -> Text:
        """Of lines, tables and texts."""
        blocks: list[str] = []
        for each in lines:
            for block in each.blocks if isinstance(each, Text) else [each]:
                if blocks and not isinstance(block, Table) and not isinstance(blocks[-1], Table):
                    blocks[-1] += f"\n{block}"
                else:
                    blocks.append(block)
        text = super().__new__(cls, "\n".join(blocks))
        text.blocks = blocks
        return text


def markdown_table(titles: Sequence[str], rows: Sequence[Sequence[Value]]) -> list[str]:
    """The table and an empty line."""
    return [Table(titles, rows), ""]


def where_it_ran(environment: dict[str, Any]) -> str:
    """Versions and machine."""
    where = environment
    machine = where.get("processor") or where["machine"]
    return (
        f"enstruct {where['enstruct']}, torch {where['torch']}, Python {where['python']}, {machine}, "
        f"{where['threads']} of {where['cores']} cores."
    )


def set_for_all(settings: dict[str, Any], defaults: dict[str, Any]) -> str:
    """What all rows were given that is not the estimator's default, with a space before it; empty for nothing."""
    changed = [f"{name}={value}" for name, value in settings.items() if value != defaults.get(name)]
    return f" Set for all rows: {', '.join(changed)}." if changed else ""
