"""Compare methods on one set of masks: same images, same split, same decisions; with intervals.

With --json, finished cells are kept, and running the command again goes on.
"""

from __future__ import annotations

from enstruct.cli import options as shared
from enstruct.cli.parser import Parser
from enstruct_bench.cli.parsers.compare import add_comparison


def parser() -> Parser:
    p = shared.new_parser(__doc__ or "")
    p.add_argument("data", type=str, help="DATA: weizmann32, or a folder with images and masks (or with parts of such)")
    add_comparison(p, "masks", "cross-entropy,seal-regression-s")
    p.add_argument("--protocol", type=str, default=None, help="dvn (24x24 crops) or whole; default: as --model.crop says")
    return p
