"""What ``enstruct-bench report`` does; its options are declared in :mod:`enstruct_bench.cli.parsers.report`."""

from __future__ import annotations

from jsonargparse import Namespace

from enstruct.cli.tables import say
from enstruct.files import write_text
from enstruct_bench.reports.results import page, sections
from enstruct_bench.reports.summaries import renew


def run(options: Namespace) -> None:
    renew(sections(options.results), options.results, say)
    write_text(options.out, page(options.results))
    say(f"page: {options.out}")
