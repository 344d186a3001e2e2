"""A section of the results page: what to read of texts, from a file of :mod:`enstruct_bench.texts.views`: which of terms and
features (`views-*`), of how many of an encoder's layers (`layers-*`)."""

from __future__ import annotations

import json
from pathlib import Path

from enstruct_bench.comparison.quantity import Quantity, Value
from enstruct_bench.reports.markdown import Text, markdown_table, where_it_ran

COLUMNS = {"micro-f1": "micro F1", "macro-f1": "macro F1", "subset-accuracy": "exact sets", "log-loss": "log-loss"}
PARTS = ("left out", "held out")


def views_section(path: Path) -> str:
    content = json.loads(path.read_text(encoding="utf-8"))
    learnt, held = content["documents"]
    rows: list[list[Value]] = [
        [
            " + ".join(row["bases"]),
            *(Quantity(row[part][name], form=".2f") for part in PARTS for name in COLUMNS),
            Quantity(row["seconds"], form=".0f"),
        ]
        for row in content["rows"]
    ]
    titles = ("bases", *(f"{title}, {part}" for part in PARTS for title in COLUMNS.values()), "fit s")
    lines = [
        f"## {content['data']}: what to read of texts (`{path.name}`)",
        "",
        f"Terms, features of a frozen encoder ({content['encoder']}), and both side by side; means of several. Each metric by "
        f"its best rule, log-loss in nats a document. Left out: {learnt} documents, each judged by a model of the other folds. "
        f"Held out: {held} others, by the folds' models together. Neither are test documents. Seed {content['seed']}, commit "
        f"{content['commit']}. {where_it_ran(content['environment'])}",
        "",
        *markdown_table(titles, rows),
    ]
    return Text(lines)
