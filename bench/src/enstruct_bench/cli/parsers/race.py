"""Several processes at one model's folder, one results file, one cache, one file of answers, at the same time.

Nobody may meet a half, and nothing that was said to be kept may be lost. Exit code 1 where something is. See docs/promise.md.
"""

from __future__ import annotations

from pathlib import Path

from enstruct.cli import options as shared
from enstruct.cli.parser import Parser
from enstruct_bench.cli.parsers.names import joined


def parser() -> Parser:
    p = shared.new_parser(__doc__ or "")
    p.add_argument("--count", type=int, default=7_000, help="turns, shared among the kinds and their processes")
    p.add_argument("--seed", type=shared.Seed, default=0)
    p.add_argument("--kinds", type=joined, default="", help="names joined by commas (default: all)")
    p.add_argument("--json", type=Path | None, default=None, help="file of the table")
    return p
