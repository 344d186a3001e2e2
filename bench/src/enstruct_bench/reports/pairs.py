"""Sections of the results page that hold one process against two: by how much two are ahead."""

from __future__ import annotations

import json
from pathlib import Path

from enstruct_bench.comparison.quantity import Quantity, Value
from enstruct_bench.reports.markdown import Text, markdown_table, where_it_ran


def workers_section(path: Path) -> str:
    """From the file of :mod:`enstruct_bench.costs.workers`: seconds."""
    titles = ("data", "method", "fits", "one worker s", "two workers s", "times as fast")
    said = "`enstruct-bench compare` as a whole command, a thread a worker, on an idle machine."
    return _section(path, "Fits side by side", said, "fits", titles, ".1f", more_is_better=False)


def ranks_section(path: Path) -> str:
    """From the file of :mod:`enstruct_bench.costs.ranks`: rows a second."""
    titles = ("data", "method", "batch", "one process rows/s", "two processes rows/s", "times as many", "times, apart")
    said = (
        "Rows trained on a second, a thread a process, on an idle machine. Apart: two processes side by side, on half a batch "
        "each, that exchange nothing: what two that train together can hardly pass."
    )
    return _section(path, "One training in two processes", said, "batch", titles, ".0f", more_is_better=True)


def _section(path: Path, heading: str, said: str, size: str, titles: tuple[str, ...], form: str, more_is_better: bool) -> str:
    content = json.loads(path.read_text(encoding="utf-8"))
    rows: list[list[Value]] = []
    for row in content["rows"]:
        one, two = row["one"], row["two"]
        ahead = two / one if more_is_better else one / two
        rows.append([row["data"], row["method"], row[size], Quantity(one, form=form), Quantity(two, form=form), Quantity(ahead)])
        if "apart" in row:
            rows[-1].append(Quantity(row["apart"] / one))
    where = where_it_ran(content["environment"])
    return Text([f"## {heading} (`{path.name}`)", "", f"{said} {where}", "", *markdown_table(titles, rows)])
