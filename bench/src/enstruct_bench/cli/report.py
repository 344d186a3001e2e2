"""Write the results page, from the summaries in RESULTS/summaries; those of runs in RESULTS are renewed first.

A summary of more runs than are at hand stays; to replace it all the same, delete it.
"""

from __future__ import annotations

from pathlib import Path

from jsonargparse import Namespace

from enstruct.cli import options as shared
from enstruct.cli.parser import Parser
from enstruct.cli.tables import say
from enstruct.files import write_text
from enstruct_bench.reports.results import page, sections
from enstruct_bench.reports.summaries import renew


def parser() -> Parser:
    p = shared.new_parser(__doc__ or "")
    p.add_argument("--results", type=Path, default=Path("results"), help="folder of runs, and of their summaries")
    p.add_argument("--out", type=Path, default=Path("docs/results.md"), help="the page; it is renewed")
    return p


def run(options: Namespace) -> None:
    renew(sections(options.results), options.results, say)
    write_text(options.out, page(options.results))
    say(f"page: {options.out}")
