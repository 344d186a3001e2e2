"""A section of the results page: wrong tags found, from the file of :mod:`enstruct_bench.joint.tags_wrong`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from enstruct_bench.comparison.quantity import Quantity, Value
from enstruct_bench.reports.markdown import Text, markdown_table, where_it_ran

TITLES = ("tagger", "AP joint", "AP cleanlab", "joint over cleanlab [95%]", "wrong tokens", "fits s", "seeds")


def tags_wrong_section(path: Path) -> str:
    content = json.loads(path.read_text(encoding="utf-8"))
    rows: list[list[Value]] = []
    for method in dict.fromkeys(row["method"] for row in content["rows"]):
        runs = [row for row in content["rows"] if row["method"] == method]
        both = all("more" in run for run in runs)
        more = np.mean([run["more"] for run in runs], axis=0).tolist() if both else None
        rows.append(
            [
                method,
                Quantity(float(np.mean([run["joint"] for run in runs]))),
                Quantity(float(np.mean([run["cleanlab"] for run in runs]))) if both else "not run",
                "" if more is None else Quantity(more[0], low=more[1], high=more[2]),
                Quantity(float(np.mean([run["wrong"] for run in runs])), form=".0f"),
                Quantity(float(np.mean([run["seconds"] for run in runs])), form=".0f"),
                len(runs),
            ]
        )
    first = content["rows"][0]
    lines = [
        f"## {content['data']}: wrong tags found (`{path.name}`)",
        "",
        f"The {first['sentences']} validation and test sentences, {first['tokens']} tokens, with errors planted in "
        f"{100 * content['share']:.0f}% of the spans (another type, a boundary one token off, dropped); taggers of "
        f"{content['folds']} folds, at most {content['epochs']} epochs; commit {content['commit']}. AP: average precision of "
        "the tokens whose tag was changed, in percent. joint: p(tag | x, all tags outside of its span); cleanlab: "
        "self-confidence, of the same taggers' marginals. Intervals: bootstrap over sentences, averaged over seeds. "
        f"{where_it_ran(content['environment'])}",
        "",
        *markdown_table(TITLES, rows),
    ]
    return Text(lines)
