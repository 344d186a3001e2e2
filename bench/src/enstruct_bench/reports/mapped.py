"""A section of the results page: fits on rows that stay in their file, from the file of :mod:`enstruct_bench.costs.mapped`."""

from __future__ import annotations

import json
from pathlib import Path

from enstruct_bench.comparison.quantity import Quantity, Value
from enstruct_bench.reports.markdown import Text, markdown_table, where_it_ran

TITLES = ("rows", "file MiB", "fit s", "memory beside the file MiB")


def mapped_section(path: Path) -> str:
    content = json.loads(path.read_text(encoding="utf-8"))
    rows: list[list[Value]] = [
        [row["rows"], *(Quantity(row[name], form=".0f") for name in ("file_mib", "seconds", "mib"))] for row in content["rows"]
    ]
    lines = [
        f"## Rows in a file (`{path.name}`)",
        "",
        "One pass of cross-entropy over generated rows of 100 of 2,000 features and 28 labels, from a folder of arrays "
        f"(`enstruct data convert`), hold-out, decision rules and saving included. {where_it_ran(content['environment'])}",
        "",
        *markdown_table(TITLES, rows),
    ]
    return Text(lines)
