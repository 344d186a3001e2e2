"""A section of the results page: patience and halving told apart, from a file of :mod:`enstruct_bench.reproduce.patience`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from enstruct_bench.comparison.quantity import Quantity, Value
from enstruct_bench.reports.markdown import Text, markdown_table, where_it_ran

TITLES = ("a stage ends by", "rates", "F1 at 0.5", "F1, threshold tuned", "epochs", "runs")


def patience_section(path: Path) -> str:
    content = json.loads(path.read_text(encoding="utf-8"))
    groups: dict[tuple[str, str], list[dict[str, float]]] = {}
    for row in content["rows"]:
        groups.setdefault((row["end"], row["rates"]), []).append(row)
    rows: list[list[Value]] = [
        [end, rates, *(_spread([run[name] for run in runs]) for name in ("at 0.5", "tuned")), _mean(runs), len(runs)]
        for (end, rates), runs in groups.items()
    ]
    commits = sorted({str(row["commit"]) for row in content["rows"]})
    lines = [
        f"## {content['data']}: what ends {content['method']} early under the published protocol (`{path.name}`)",
        "",
        f"Published at 0.5: {content['published']}. Commits {', '.join(commits)}. {where_it_ran(content['environment'])}",
        "",
        *markdown_table(TITLES, rows),
    ]
    return Text(lines)


def _spread(values: list[float]) -> Quantity:
    return Quantity(float(np.mean(values)), spread=float(np.std(values, ddof=1)) if len(values) > 1 else None)


def _mean(runs: list[dict[str, float]]) -> Quantity:
    return Quantity(float(np.mean([run["epochs"] for run in runs])), form=".0f")
