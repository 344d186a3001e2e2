"""A section of the results page: what a second worker brings, from the file of :mod:`enstruct_bench.costs.workers`."""

from __future__ import annotations

import json
from pathlib import Path

from enstruct_bench.comparison.quantity import Quantity, Value
from enstruct_bench.reports.markdown import Text, markdown_table, where_it_ran

TITLES = ("data", "method", "fits", "one worker s", "two workers s", "times as fast")


def workers_section(path: Path) -> str:
    content = json.loads(path.read_text(encoding="utf-8"))
    rows: list[list[Value]] = [
        [
            *(row["data"], row["method"], row["fits"]),
            Quantity(row["one"], form=".1f"),
            Quantity(row["two"], form=".1f"),
            Quantity(row["one"] / row["two"]),
        ]
        for row in content["rows"]
    ]
    lines = [
        f"## Fits side by side (`{path.name}`)",
        "",
        "`enstruct-bench compare` as a whole command, a thread a worker, on an idle machine. "
        f"{where_it_ran(content['environment'])}",
        "",
        *markdown_table(TITLES, rows),
    ]
    return Text(lines)
