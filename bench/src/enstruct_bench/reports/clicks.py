"""A section of the results page: clicks until a mask is right, from a file of :mod:`enstruct_bench.joint.clicks`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from enstruct.metrics import Counts
from enstruct_bench.comparison.bootstrap import paired_difference
from enstruct_bench.comparison.quantity import Quantity, Value
from enstruct_bench.reports.markdown import Text, markdown_table, where_it_ran

TITLES = ("side", "clicks", "more than field [95%]", "reached", "IoU before", "IoU after 5", "ms an answer", "seeds")


def clicks_section(path: Path) -> str:
    content = json.loads(path.read_text(encoding="utf-8"))
    rows: list[list[Value]] = []
    for side in dict.fromkeys(row["side"] for row in content["rows"]):
        runs = [row for row in content["rows"] if row["side"] == side]
        mean = {key: float(np.mean([run[key] for run in runs])) for key in runs[0] if isinstance(runs[0][key], float)}
        more, low, high = _more(runs, [row for row in content["rows"] if row["side"] == "field"])
        rows.append(
            [
                side,
                Quantity(mean["clicks"], form=".2f"),
                "" if side == "field" else f"{more:+.2f} [{low:+.2f}, {high:+.2f}]",
                *(Quantity(100 * mean[key], form=".1f") for key in ("reached", "iou_before", "iou_after_5")),
                Quantity(1000 * mean["seconds_an_answer"], form=".1f"),
                len(runs),
            ]
        )
    over = "images and seeds" if all("counts" in row for row in content["rows"]) else "images, of one seed each"
    shown = "their own size" if content["size"] is None else f"{content['size']} pixels a side for the network"
    lines = [
        f"## {content['data']}: clicks to {100 * content['wanted']:.0f}% IoU (`{path.name}`)",
        "",
        f"Images in {shown}, at most {content['epochs']} epochs, {content['most']} clicks at most, commit {content['commit']}. "
        "field: a cross-entropy network and what told pixels say of others; painted: the same, clicks changing only themselves; "
        "field-pl: its numbers by pseudo-likelihood; field-gibbs: answered by blocked Gibbs sampling; "
        "grabcut+box: told the object's box, for two clicks; grabcut+net: begun at the network's mask. Intervals: bootstrap over "
        f"{over}. Times are with other work on the machine. {where_it_ran(content['environment'])}",
        "",
        *markdown_table(TITLES, rows),
    ]
    return Text(lines)


def _more(runs: list[dict[str, Any]], field: list[dict[str, Any]]) -> tuple[float, float, float]:
    """(mean, low, high) of clicks more than the field's, over the seeds that both have; of older files the mean of their ends."""
    if not all("counts" in run for run in (*runs, *field)):
        more, low, high = np.mean([run["more_than_field"] for run in runs], axis=0)
        return float(more), float(low), float(high)
    theirs = {run["seed"]: Counts.of(run["counts"]) for run in runs}
    ours = {run["seed"]: Counts.of(run["counts"]) for run in field}
    common = sorted(theirs.keys() & ours.keys())
    more, low, high = paired_difference([ours[seed] for seed in common], [theirs[seed] for seed in common])
    return more, low, high
