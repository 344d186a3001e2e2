"""A section of the results page: suspects among labels of documents, from a file of :mod:`enstruct_bench.texts.suspects`."""

from __future__ import annotations

import json
from pathlib import Path

from enstruct_bench.comparison.quantity import Quantity, Value
from enstruct_bench.joint.cleanlab import KINDS
from enstruct_bench.reports.markdown import Text, markdown_table, where_it_ran

OTHERS = {"base": "base", **{kind: f"cleanlab, {kind}" for kind in KINDS}}
TITLES = ("planted", "joint", *OTHERS.values(), *(f"Δ to {name}" for name in OTHERS.values()), "documents", "seed", "commit")


def suspects_section(path: Path) -> str:
    content = json.loads(path.read_text(encoding="utf-8"))
    planted = [row for row in content["rows"] if "worst" not in row]
    lines = [
        f"## {content['data']}: suspects among given labels (`{path.name}`)",
        "",
        f"Texts by {content['encoder'] or 'terms'}. Average precision, in percent, of planted wrong cells: by "
        "find_label_issues (x and the other labels), by the base's p(label | x), by cleanlab from the same marginals. "
        "Δ: the joint above "
        f"each, 95% by bootstrap over documents. {where_it_ran(content['environment'])}",
    ]
    if planted:
        rows: list[list[Value]] = [
            [
                row["noise"],
                *(Quantity(row[side], form=".1f") if side in row else "" for side in ("joint", *OTHERS)),
                *("{:+.1f} [{:+.1f}, {:+.1f}]".format(*row["more"][side]) if side in row["more"] else "" for side in OTHERS),
                row["documents"],
                row["seed"],
                row["commit"],
            ]
            for row in planted
        ]
        lines += ["", *markdown_table(TITLES, rows)]
    for row in content["rows"]:
        if "worst" in row:
            lines += [
                "",
                f"The least likely of {row['documents']} documents' labels as published (number of the training document):",
                "",
            ]
            cells: list[list[Value]] = [
                [one["document"], one["label"], "yes" if one["given"] else "no", f"{one['p']:.5f}"] for one in row["worst"]
            ]
            lines += markdown_table(("document", "label", "given", "p, given the others"), cells)
    return Text(lines)
