"""What the workbench is worth, through the page's own paths.

    clicks      until a label set is right, against correcting the base's answers, on yeast, cal500 and bibtex
    waiting     for the answers after a click, at 200 and 1,000 labels, and for the first page of 100,000 rows
    kills       answers kept while the server is killed at random moments
    teaching    F1 after so many rows labelled in the page's order, and at random
    tour        no figures: the pictures of docs/tour.md, in --json (default: docs/tour); needs Chromium and Playwright

Figures are kept in --json (default: results/workbench-WHAT.json), and those that are there are not measured again.
"""

from __future__ import annotations

from pathlib import Path

from enstruct.cli import options as shared
from enstruct.cli.parser import Parser


def parser() -> Parser:
    p = shared.new_parser(__doc__ or "")
    p.add_argument("what", type=str, help="clicks, waiting, kills, teaching or tour")
    p.add_argument("--data", type=str | None, default=None, help="named sets, joined by commas (default: yeast,cal500,bibtex)")
    p.add_argument("--seeds", type=int, default=1)
    p.add_argument("--base", type=str, default="auto", help="of clicks and teaching")
    p.add_argument("--minutes", type=float, default=1.0, help="of --base auto")
    p.add_argument("--answers", type=int, default=10_000, help="of kills")
    p.add_argument("--kills", type=int, default=200)
    p.add_argument("--labels", type=str, default="200,1000", help="of waiting")
    p.add_argument("--rows", type=int, default=100_000, help="of waiting: of the first page")
    p.add_argument("--json", type=Path | None, default=None, help="file of the figures")
    return p
