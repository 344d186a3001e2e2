"""A section of the results page: what the default takes, from the file of :mod:`enstruct_bench.costs.default`."""

from __future__ import annotations

import json
from pathlib import Path

from enstruct_bench.comparison.quantity import Quantity, Value
from enstruct_bench.reports.markdown import Text, markdown_table, where_it_ran

TITLES = ("data", "rows", "features", "labels", "s", "MiB", "F1", "averages", "energy")


def default_cost_section(path: Path) -> str:
    content = json.loads(path.read_text(encoding="utf-8"))
    rows: list[list[Value]] = [
        [
            *(row[key] for key in ("data", "rows", "features", "labels")),
            Quantity(row["seconds"], form=".1f"),
            Quantity(row["mib"], form=".0f"),
            Quantity(row["f1"], form=".2f"),
            " + ".join(row["base"]),
            row["energy"],
        ]
        for row in content["rows"]
    ]
    return Text(
        [
            f"## What the default takes (`{path.name}`)",
            "",
            "`EnergyMultiLabelClassifier().fit` on the training and validation rows of the first split, in a process of its own, "
            "LightGBM and CatBoost among the bases where they are installed; imports that it is the first to need are in its "
            "seconds. Example-F1 of the test rows. "
            f"Commit {content['commit']}. {where_it_ran(content['environment'])}",
            "",
            *markdown_table(TITLES, rows),
        ]
    )
