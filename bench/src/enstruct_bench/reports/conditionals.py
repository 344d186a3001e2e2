"""A section of the results page: what a joint costs, from the file of :mod:`enstruct_bench.costs.conditionals`."""

from __future__ import annotations

import json
from pathlib import Path

from enstruct_bench.comparison.quantity import Quantity, Value
from enstruct_bench.costs.conditionals import ROWS
from enstruct_bench.reports.markdown import Text, markdown_table, where_it_ran

TITLES = ("data", "labels", "energy", "training s", "answer s", "µs a label and row", "sampled", "sweeps", "GFLOP", "of the rate")


def conditionals_section(path: Path) -> str:
    content = json.loads(path.read_text(encoding="utf-8"))
    rows: list[list[Value]] = []
    for row in content["rows"]:
        asked = ROWS * (row["labels"] - row["labels"] // 2)
        share = row["gflop"] / row["answer"] / content["matmul_gflops"]
        rows.append(
            [
                row["data"],
                row["labels"],
                row["energy"],
                Quantity(row["training"], form=".1f"),
                Quantity(row["answer"]),
                Quantity(1e6 * row["answer"] / asked, form=".1f"),
                Quantity(row["sampled"], form=".0f"),
                Quantity(row["sweeps"], form=".0f"),
                Quantity(row["gflop"]),
                Quantity(100 * share, form=".0f", note="%"),
            ]
        )
    lines = [
        f"## What a joint costs (`{path.name}`)",
        "",
        f"Seconds to train the energy, beside its base's, and to answer {ROWS:,} rows with half of their labels told, to a "
        "standard error of 0.01, on an idle machine. Sampled: free labels of a row that are, others being all but impossible; "
        "sweeps: over them, 0 where all states are enumerated; GFLOP: what the answers need; of the rate: of a product of two "
        f"matrices on this machine. {where_it_ran(content['environment'])}",
        "",
        *markdown_table(TITLES, rows),
    ]
    return Text(lines)
