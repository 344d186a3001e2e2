"""A section of the results page: fits by the default beside those that end by patience, from a file of
:mod:`enstruct_bench.costs.pace`."""

from __future__ import annotations

import json
from pathlib import Path

from enstruct_bench.comparison.quantity import Quantity, Value
from enstruct_bench.reports.markdown import Text, markdown_table, where_it_ran

TITLES = (
    "data",
    "method",
    "training rows",
    "splits",
    "patience s",
    "cycles s",
    "times as fast",
    "patience F1",
    "cycles F1",
    "Δ [95%]",
)


def pace_section(path: Path) -> str:
    content = json.loads(path.read_text(encoding="utf-8"))
    rows: list[list[Value]] = []
    for line in content["compared"]:
        ahead = line["patience_seconds"] / line["cycles_seconds"]
        rows.append(
            [
                *(line[key] for key in ("data", "method", "rows", "splits")),
                *(Quantity(line[f"{side}_seconds"], form=".1f") for side in ("patience", "cycles")),
                Quantity(ahead, form=".1f"),
                *(Quantity(line[f"{side}_f1"], form=".2f") for side in ("patience", "cycles")),
                "{:+.2f} [{:+.2f}, {:+.2f}]".format(*line["gain"]),
            ]
        )
    return Text(
        [
            f"## Stages in cycles (`{path.name}`)",
            "",
            "One fit each way on every split, decision rules included: by patience, as the default was before 0.3.0, and by the "
            "default. Seconds of the processor, of one thread; example-F1 of test rows by the rule chosen on validation rows; "
            f"intervals by bootstrap over splits and their rows. Commit {content['commit']}. "
            f"{where_it_ran(content['environment'])}",
            "",
            *markdown_table(TITLES, rows),
        ]
    )
