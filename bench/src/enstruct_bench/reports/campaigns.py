"""Sections of the results page on campaigns, from files of ``enstruct-bench fuzz``, ``kill``, ``race`` and ``soak``."""

from __future__ import annotations

import json
from pathlib import Path

from enstruct_bench.comparison.quantity import Quantity, Value
from enstruct_bench.reports.markdown import Text, markdown_table, where_it_ran

TITLES = ("campaign", "group", "tried", "refused", "accepted", "defects")
TIMES = "memory, times the size"


def campaign_section(path: Path) -> str:
    content = json.loads(path.read_text(encoding="utf-8"))
    lines = [f"## Campaigns: {content['what']} (`{path.name}`)", ""]
    for run in content["runs"]:
        measured = any("times" in group for group in run["groups"].values())
        rows: list[list[Value]] = []
        for name, group in run["groups"].items():
            times: Value = Quantity(group["times"], form=".1f") if "times" in group else "–"
            counts = [group[verdict] for verdict in ("tried", "refused", "accepted", "defect")]
            rows.append([run["name"], name, *counts, *([times] if measured else [])])
        tried = sum(group["tried"] for group in run["groups"].values())
        most = f", {run['most_mib']:.0f} MiB and {run['longest']:.1f} s at most for one" if run["most_mib"] else ""
        lines += [
            f"{run['name']}: {tried} tried, {run['defects']} defects{most}.",
            "",
            *markdown_table((*TITLES, *([TIMES] if measured else [])), rows),
        ]
    return Text([*lines, where_it_ran(content["runs"][0]["environment"]), ""])
