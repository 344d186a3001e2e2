"""A section of the results page: two processes on one training, from the file of :mod:`enstruct_bench.costs.ranks`."""

from __future__ import annotations

import json
from pathlib import Path

from enstruct_bench.comparison.quantity import Quantity, Value
from enstruct_bench.reports.markdown import Text, markdown_table, where_it_ran

TITLES = ("data", "method", "batch", "one process rows/s", "two processes rows/s", "times as many")


def ranks_section(path: Path) -> str:
    content = json.loads(path.read_text(encoding="utf-8"))
    rows: list[list[Value]] = [
        [
            *(row["data"], row["method"], row["batch"]),
            Quantity(row["one"], form=".0f"),
            Quantity(row["two"], form=".0f"),
            Quantity(row["two"] / row["one"]),
        ]
        for row in content["rows"]
    ]
    lines = [
        f"## One training in two processes (`{path.name}`)",
        "",
        f"Rows trained on a second, a thread a process, on an idle machine, over gloo. {where_it_ran(content['environment'])}",
        "",
        *markdown_table(TITLES, rows),
    ]
    return Text(lines)
