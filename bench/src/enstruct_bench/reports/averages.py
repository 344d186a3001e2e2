"""A section of the results page: averages of bases by several criteria, from a file of :mod:`enstruct_bench.joint.averages`."""

from __future__ import annotations

import json
from pathlib import Path

from enstruct_bench.comparison.quantity import Quantity, Value
from enstruct_bench.reports.markdown import Text, markdown_table, where_it_ran

TITLES = ("data", "splits", "chosen by", "F1", "Δ to f1 [95%]", "nats", "average precision")


def averages_section(path: Path) -> str:
    content = json.loads(path.read_text(encoding="utf-8"))
    rows: list[list[Value]] = [
        [
            *(line[key] for key in ("data", "splits", "criterion")),
            Quantity(line["f1"], form=".2f"),
            "{:+.2f} [{:+.2f}, {:+.2f}]".format(*line["gain"]),
            Quantity(line["nats"], form=".3f"),
            Quantity(line["precision"], form=".2f"),
        ]
        for line in content["compared"]
    ]
    return Text(
        [
            f"## By what averages of bases are chosen (`{path.name}`)",
            "",
            'The bases of "auto" cross-fitted on training rows, averages chosen there by F1 under the best rule (what the joint '
            "does), by likelihood or by micro average precision, and judged on validation rows by the rule that was chosen with "
            f'them. Intervals by bootstrap over splits and their rows; "all": over all splits. Commit {content["commit"]}. '
            f"{where_it_ran(content['environment'])}",
            "",
            *markdown_table(TITLES, rows),
        ]
    )
