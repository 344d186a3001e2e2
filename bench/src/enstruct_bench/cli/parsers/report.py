"""Write the results page, and a page a paper beside it, from the summaries in RESULTS/summaries.

Those of runs in RESULTS are renewed first.

With --html all of them are written as one HTML file too, which needs nothing beside it.

A summary of more runs than are at hand stays; to replace it all the same, delete it.
"""

from __future__ import annotations

from pathlib import Path

from enstruct.cli import options as shared
from enstruct.cli.outputs import add_overwrite
from enstruct.cli.parser import Parser


def parser() -> Parser:
    p = shared.new_parser(__doc__ or "")
    p.add_argument("--results", type=Path, default=Path("results"), help="folder of runs, and of their summaries")
    p.add_argument("--out", type=Path, default=Path("docs/results.md"), help="the page; it is renewed")
    p.add_argument("--html", type=Path | None, default=None, help="also write the results page as this one HTML file, FILE.html")
    add_overwrite(p)
    return p
