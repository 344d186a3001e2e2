"""Processes killed at random moments of training, saving, exporting, labelling; full disks, folders that may not be written.

What was there, or the new, must be there whole; what was said to be kept must be there; training that goes on must end at the
same bits. Exit code 1 where something does not. See docs/promise.md.
"""

from __future__ import annotations

from enstruct.cli.parser import Parser
from enstruct_bench.cli.parsers.campaign import campaign_parser


def parser() -> Parser:
    return campaign_parser(__doc__ or "", 500, "kills, shared among the kinds")
