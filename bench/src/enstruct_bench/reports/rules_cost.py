"""A section of the results page: what rules cost, from the file of :mod:`enstruct_bench.costs.rules`."""

from __future__ import annotations

import json
from pathlib import Path

from enstruct_bench.comparison.quantity import Quantity, Value
from enstruct_bench.reports.markdown import Text, markdown_table, where_it_ran


def rules_cost_section(path: Path) -> str:
    content = json.loads(path.read_text(encoding="utf-8"))
    tags, labels = content["tags"], content["labels"]
    asked = [
        ("2,000 sentences of 25 words, legal decoding", tags["greedy"], tags["legal"]),
        ("the same under a rule, the chain's best sequence", tags["greedy"], tags["rules"]),
        ("1,000 rows of 4,000 labels, a hierarchy", labels["without"], labels["hierarchy"]),
    ]
    if "memories" in content:  # which older files lack
        chain, once = (content["memories"][name] for name in ("chain", "once"))
        asked.append(("marginals of 200 sentences, under one rule and under four AtMostOnce", chain, once))
    rows: list[list[Value]] = [
        [what, Quantity(without, form=".3f"), Quantity(with_, form=".3f"), Quantity(with_ / without, form=".2f")]
        for what, without, with_ in asked
    ]
    if "told" in content:  # which older files lack
        rows.append(
            [
                "10 rows of 4,000 labels in a hierarchy, half of them told, by chains",
                "",
                Quantity(content["told"], form=".1f"),
                "",
            ]
        )
    lines = [
        f"## What rules cost (`{path.name}`)",
        "",
        f"Seconds of an answer, networks and all, greedy or without rules and with them; commit {content['commit']}. "
        f"{where_it_ran(content['environment'])}",
        "",
        *markdown_table(("prediction", "without s", "with s", "times"), rows),
    ]
    return Text(lines)
