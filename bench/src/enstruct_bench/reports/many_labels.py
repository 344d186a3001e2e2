"""A section of the results page: fits of very many labels, from the file of :mod:`enstruct_bench.costs.many_labels`."""

from __future__ import annotations

import json
from pathlib import Path

from enstruct_bench.comparison.quantity import Quantity, Value
from enstruct_bench.reports.markdown import Text, markdown_table, where_it_ran

TITLES = ("data", "labels", "rows", "features", "method", "fit s", "asked", "answer s", "MiB", "F1")


def many_labels_section(path: Path) -> str:
    content = json.loads(path.read_text(encoding="utf-8"))
    rows: list[list[Value]] = [
        [
            *(row[key] for key in ("data", "labels", "rows", "features", "method")),
            Quantity(row["seconds"], form=".1f"),
            row["asked"],
            Quantity(row["answering"], form=".2f"),
            Quantity(row["mib"], form=".0f"),
            Quantity(row["f1"], form=".2f"),
        ]
        for row in content["rows"]
    ]
    return Text(
        [
            f"## Very many labels (`{path.name}`)",
            "",
            "Generated documents have five labels a row by Zipf's law, whose words are each label's own: clusters of labels know "
            "nothing there. A fit with all that it chooses, then label sets of rows that it has not seen; each case in a process "
            "of its own, whose peak the memory is. "
            f"Commit {content['commit']}. {where_it_ran(content['environment'])}",
            "",
            *markdown_table(TITLES, rows),
        ]
    )
