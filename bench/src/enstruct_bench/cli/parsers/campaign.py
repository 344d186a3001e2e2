"""Options that campaigns of several kinds share."""

from __future__ import annotations

from pathlib import Path

from enstruct.cli import options as shared
from enstruct.cli.parser import Parser
from enstruct_bench.cli.parsers.names import joined


def campaign_parser(description: str, count: int, counted: str) -> Parser:
    """``count``: how many of what is ``counted``, where nobody says."""
    p = shared.new_parser(description)
    p.add_argument("--count", type=int, default=count, help=counted)
    p.add_argument("--seed", type=shared.Seed, default=0)
    p.add_argument("--kinds", type=joined, default="", help="names joined by commas (default: all)")
    p.add_argument("--json", type=Path | None, default=None, help="file of the table")
    return p
