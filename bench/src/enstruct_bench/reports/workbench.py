"""Sections of the results page on the workbench, from the files of :mod:`enstruct_bench.workbench`."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from enstruct.metrics import Counts
from enstruct.metrics.intervals import Counted, intervals
from enstruct_bench.comparison.quantity import Quantity, Value
from enstruct_bench.reports.markdown import Text, markdown_table, where_it_ran
from enstruct_bench.workbench.clicks import ORDERS

WAYS = {"teaching": "the page's order", "entropy": "by entropies", "random": "at random"}
TITLES = {
    "clicks": "clicks until a set is right",
    "waiting": "how long a person waits",
    "kills": "a server killed again and again",
    "teaching": "rows in the order in which they teach",
}
CLICK_TITLES = (
    "data",
    "base",
    "rows",
    "page, surest first",
    "page, likeliest first",
    "base cut at a half",
    "base by its own rule",
)
SHARE_TITLES = ("data", "surest first / half", "likeliest first / half", "surest first / own rule", "likeliest first / own rule")


def workbench_section(path: Path) -> str:
    content = json.loads(path.read_text(encoding="utf-8"))
    rows = content["runs"]
    told = {"clicks": _clicks, "waiting": _waiting, "kills": _kills, "teaching": _teaching}[content["what"]]
    heading = {
        "clicks": "clicks until a set is right",
        "waiting": "how long a person waits",
        "kills": "a server killed again and again",
    }
    title = heading.get(content["what"], "rows in the order in which they teach")
    return Text([f"## The workbench: {title} (`{path.name}`)", "", *told(rows), where_it_ran(rows[0]["environment"]), ""])


def _clicks(rows: Sequence[dict[str, Any]]) -> list[str]:
    said = (
        "Mean clicks a test row of a person who knows the truth and tells, through the page's paths, the first label that is "
        "shown wrong in the order in which labels are listed, against one click for each label that the base alone has wrong, "
        "cut at a half and by its own decision rule. Shares in percent: clicks on the page over those, 95% intervals by drawing "
        "rows."
    )
    table: list[list[Value]] = []
    shares: list[list[Value]] = []
    for data, group in _by(rows, "data").items():
        joined = {order: np.concatenate([row["clicks"][order] for row in group]) for order in ORDERS}
        base = {rule: np.concatenate([row["base_clicks"][rule] for row in group]) for rule in ("a half", "its own rule")}
        n = len(joined["surest"])
        means = [Quantity(float(each.mean())) for each in (*joined.values(), *base.values())]
        table.append([data, group[0]["base"], n, *means])
        shares.append([data, *(_share(joined[order], base[rule]) for rule in base for order in ORDERS)])
    return [said, "", *markdown_table(CLICK_TITLES, table), *markdown_table(SHARE_TITLES, shares)]


def _share(clicks: Any, base: Any) -> Quantity:
    value, low, high = intervals({"": Counted(Counts.of(clicks, base))}, seed=0)[""]
    return Quantity(100 * value, low=100 * low, high=100 * high, form=".1f")


def _waiting(rows: Sequence[dict[str, Any]]) -> list[str]:
    said = (
        "Milliseconds from a click to the new answers (kept on the disk, and all labels given it), and to the next question, "
        "over loopback, of generated sets whose labels go together in groups."
    )
    titles = ("labels", "terms", "clicks", "answers 50%", "95%", "99%", "question 50%", "95%")
    table: list[list[Value]] = []
    pages: list[list[Value]] = []
    for row in rows:
        if "answers" in row:
            times = [*row["answers"].values(), *[*row["question"].values()][:2]]
            table.append([row["labels"], row["terms"], row["clicks"], *(Quantity(each, form=".0f") for each in times)])
        else:
            pages.append([row["rows"], row["labels"], row["in"], Quantity(row["seconds"])])
    first = markdown_table(("rows of the set", "labels", "in", "first page s"), pages) if pages else []
    return [said, "", *markdown_table(titles, table), *first]


def _kills(rows: Sequence[dict[str, Any]]) -> list[str]:
    said = (
        "Answers sent one after another to `enstruct label --new`, which is killed (SIGKILL) at random moments and started again."
    )
    names = ("answers", "kills", "sent again", "lost", "twice", "out of order", "rows that say otherwise")
    return [said, "", *markdown_table(names, [[row[name] for name in names] for row in rows])]


def _teaching(rows: Sequence[dict[str, Any]]) -> list[str]:
    said = "F1 of test rows, labels cut at a half, after so many labelled rows, in the page's order and at random."
    table: list[list[Value]] = []
    names = [name for way, name in WAYS.items() if way in rows[0]]
    for data, group in _by(rows, "data").items():
        for k, size in enumerate(group[0]["sizes"]):
            ways = [100 * np.array([row[way][k] for row in group]) for way in WAYS if way in group[0]]
            cells = [
                Quantity(float(each.mean()), float(each.std(ddof=1)) if len(each) > 1 else None)
                for each in (*ways, ways[0] - ways[-1])
            ]
            table.append([data, len(group), size, *cells])
    return [said, "", *markdown_table(("data", "seeds", "rows", *names, "page less random"), table)]


def _by(rows: Sequence[dict[str, Any]], name: str) -> dict[str, list[dict[str, Any]]]:
    groups: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        groups[row[name]].append(row)
    return groups
