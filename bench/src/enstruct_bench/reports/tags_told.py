"""A section of the results page: taggers with some tags told, from the file of :mod:`enstruct_bench.joint.tags_told`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from enstruct_bench.comparison.quantity import Quantity, Value
from enstruct_bench.reports.markdown import Text, markdown_table, where_it_ran

TITLES = (
    "method",
    "told",
    "F1",
    "F1 alone",
    "gain [95%]",
    "gain over pasted [95%]",
    "accuracy",
    "exact sentences",
    "answer s",
    "nats a sentence",
    "seeds",
)


def tags_told_section(path: Path) -> str:
    content = json.loads(path.read_text(encoding="utf-8"))
    rows: list[list[Value]] = []
    for method in dict.fromkeys(row["method"] for row in content["rows"]):
        runs = [row for row in content["rows"] if row["method"] == method]
        for share in runs[0]["shares"]:
            each = [run["shares"][share] for run in runs]
            mean = {key: _mean(each, key) for key in ("f1", "f1_alone", "accuracy", "exact", "seconds")}
            low, high = (np.mean([one["gain"][side] for one in each]) for side in (1, 2))
            rows.append(
                [
                    method,
                    f"{100 * float(share):.0f}%",
                    *(Quantity(mean[key], form=".2f") for key in ("f1", "f1_alone")),
                    f"{mean['f1'] - mean['f1_alone']:+.2f} [{low:+.2f}, {high:+.2f}]",
                    _over_pasted(each),
                    *(Quantity(mean[key], form=".2f") for key in ("accuracy", "exact", "seconds")),
                    Quantity(float(np.mean([run["nats"] for run in runs])), form=".2f"),
                    len(runs),
                ]
            )
    sizes = ", ".join(f"{name} {n}" for name, n in content["sentences"].items())
    lines = [
        f"## {content['data']}: some tags told (`{path.name}`)",
        "",
        f"Sentences: {sizes}; at most {content['epochs']} epochs; commit {content['commit']}. F1 of entities with a token "
        "that is not told, with what is told and by the same tagger alone; pasted: told tags put over what it says alone; "
        "accuracy of tokens not told. Intervals: bootstrap "
        "over sentences, of one seed each. Nats: -log p of whole sentences under the tagger's chain. "
        f"{where_it_ran(content['environment'])}",
        "",
        *markdown_table(TITLES, rows),
    ]
    return Text(lines)


def _over_pasted(each: list[dict[str, Any]]) -> str:
    if not all("gain_over_pasted" in one for one in each):  # older files
        return ""
    return "{:+.2f} [{:+.2f}, {:+.2f}]".format(*np.mean([one["gain_over_pasted"] for one in each], axis=0))


def _mean(each: list[dict[str, Any]], key: str) -> float:
    return float(np.mean([one[key] for one in each]))
