"""Several processes at one model's folder, one results file, one cache, one file of answers, at the same time.

Nobody may meet a half, and nothing that was said to be kept may be lost. Exit code 1 where something is. See docs/promise.md.
"""

from __future__ import annotations

from enstruct.cli.parser import Parser
from enstruct_bench.cli.parsers.campaign import campaign_parser


def parser() -> Parser:
    return campaign_parser(__doc__ or "", 7_000, "turns, shared among the kinds and their processes")
