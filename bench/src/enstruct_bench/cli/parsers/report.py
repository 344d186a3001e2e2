"""Write the results page: every table that has figures in RESULTS, as Markdown."""

from __future__ import annotations

from pathlib import Path

from enstruct.cli import options as shared
from enstruct.cli.parser import Parser


def parser() -> Parser:
    p = shared.new_parser(__doc__ or "")
    p.add_argument("--results", type=Path, default=Path("results"), help="folder of results files")
    p.add_argument("--out", type=Path, default=Path("docs/results.md"), help="the page; it is renewed")
    return p
