"""A section of the results page: exported models beside their models, from the file of :mod:`enstruct_bench.costs.exports`."""

from __future__ import annotations

import json
from pathlib import Path

from enstruct_bench.comparison.quantity import Quantity, Value
from enstruct_bench.reports.markdown import Text, markdown_table, where_it_ran

TITLES = (
    *("data", "base", "decision", "test rows", "label sets equal", "largest difference of p"),
    *("file MB", "of its weights", "export s", "one row: file ms", "model ms"),
)


def exports_section(path: Path) -> str:
    content = json.loads(path.read_text(encoding="utf-8"))
    rows: list[list[Value]] = [
        [
            row["data"],
            row["base"],
            row["decision"],
            row["rows"],
            row["equal"],
            Quantity(row["largest_difference"], form=".3g"),
            Quantity(row["bytes"] / 1e6),
            Quantity(row["bytes"] / row["weights"]),
            Quantity(row["export_seconds"], form=".0f"),
            Quantity(1e3 * row["file_seconds"]),
            Quantity(1e3 * row["model_seconds"]),
        ]
        for row in content["rows"]
    ]
    lines = [
        f"## Exported models (`{path.name}`)",
        "",
        "The joint's model.onnx beside the joint itself, on all test rows in single precision, one thread; milliseconds are "
        f"medians over rows answered alone, with other work on the machine. {where_it_ran(content['environment'])}",
        "",
        *markdown_table(TITLES, rows),
    ]
    return Text(lines)
