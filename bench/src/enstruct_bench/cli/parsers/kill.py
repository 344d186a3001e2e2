"""Processes killed at random moments of training, saving, exporting, labelling; full disks, folders that may not be written.

What was there, or the new, must be there whole; what was said to be kept must be there; training that goes on must end at the
same bits. Exit code 1 where something does not. See docs/promise.md.
"""

from __future__ import annotations

from pathlib import Path

from enstruct.cli import options as shared
from enstruct.cli.parser import Parser
from enstruct_bench.cli.parsers.names import joined


def parser() -> Parser:
    p = shared.new_parser(__doc__ or "")
    p.add_argument("--count", type=int, default=500, help="kills, shared among the kinds")
    p.add_argument("--seed", type=shared.Seed, default=0)
    p.add_argument("--kinds", type=joined, default="", help="names joined by commas (default: all)")
    p.add_argument("--json", type=Path | None, default=None, help="file of the table")
    return p
