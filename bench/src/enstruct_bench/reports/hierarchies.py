"""A section of the results page: hierarchies by AU(PRC), from a file of :mod:`enstruct_bench.joint.hierarchies`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from enstruct_bench.comparison.quantity import Quantity, Value
from enstruct_bench.reports.markdown import Text, markdown_table, where_it_ran

TITLES = ("side", "AU(PRC)", "of seeds", "exact", "rows that break the hierarchy", "fit s", "answer s", "seeds", "commit")


def hierarchies_section(path: Path) -> str:
    content = json.loads(path.read_text(encoding="utf-8"))
    rows: list[list[Value]] = []
    for side in dict.fromkeys(row["side"] for row in content["rows"]):
        runs = [row for row in content["rows"] if row["side"] == side]
        areas = [run["auprc"] for run in runs]
        rows.append(
            [
                side,
                Quantity(float(np.mean(areas)), form=".4f"),
                f"{min(areas):.4f} to {max(areas):.4f}",
                Quantity(100 * float(np.mean([run["exact"] for run in runs])), form=".2f"),
                sum(run["rows_broken"] for run in runs),
                *(Quantity(float(np.mean([run[key] for run in runs])), form=".1f") for key in ("fit_seconds", "answer_seconds")),
                len(runs),
                ", ".join(dict.fromkeys(run["commit"] for run in runs)),
            ]
        )
    published = "" if content["published"] is None else f"C-HMCNN's published AU(PRC): {content['published']:.3f}. "
    lines = [
        f"## {content['data']}: its hierarchy (`{path.name}`)",
        "",
        f"{published}By its protocol: published training and validation rows together, official test rows. Everything is chosen "
        "within the training rows. AU(PRC): of all cells; semantic-loss: the cross-entropy network that learns to keep the "
        "hierarchy; pishield: PiShield's layer on a cross-entropy network. Seconds are "
        f"with other work on the machine. {where_it_ran(content['environment'])}",
        "",
        *markdown_table(TITLES, rows),
    ]
    return Text(lines)
