"""What ``enstruct-bench report`` does; its options are declared in :mod:`enstruct_bench.cli.parsers.report`."""

from __future__ import annotations

from jsonargparse import Namespace

from enstruct.cli.outputs import check_free
from enstruct.cli.tables import say
from enstruct.errors import ConfigError
from enstruct.files import write_text
from enstruct_bench.reports.html_page import results_page
from enstruct_bench.reports.papers import PAPERS, paper_page
from enstruct_bench.reports.reproduced import drop_empty
from enstruct_bench.reports.results import page, sections
from enstruct_bench.reports.summaries import FOLDER, renew
from enstruct_bench.reproduce.tables import TABLES


def run(options: Namespace) -> None:
    if options.html is not None:
        if options.html.suffix not in (".html", ".htm"):
            raise ConfigError(f"--html {options.html}: what is written is a page, so name it FILE.html.")
        check_free([options.html], options.overwrite)
    renew(sections(options.results), options.results, say)
    for table in TABLES:
        drop_empty(table, options.results / FOLDER)
    write_text(options.out, page(options.results))
    pages = {paper: options.out.parent / "papers" / f"{paper.name}.md" for paper in PAPERS}
    for paper, place in pages.items():
        place.parent.mkdir(exist_ok=True)
        write_text(place, paper_page(paper, options.results))
    if options.html is not None:
        write_text(options.html, results_page(options.results))
        say(f"one file: {options.html}")
    say(f"pages: {', '.join(map(str, (options.out, *pages.values())))}")
