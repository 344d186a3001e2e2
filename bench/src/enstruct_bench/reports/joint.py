"""Sections of the results page for joint distributions over label sets: files of ``enstruct-bench joint --json``."""

from __future__ import annotations

import json
from pathlib import Path

from enstruct.data.catalogue import CATALOGUE
from enstruct_bench.comparison.quantity import Value
from enstruct_bench.comparison.summary import spread
from enstruct_bench.joint.results import JointFile
from enstruct_bench.joint.summary import COLUMNS, DIFFERENCES, differences_of, rows_of
from enstruct_bench.reports.markdown import Text, markdown_table, where_it_ran

ABSENT = "–"


def _splits(data: str) -> str:
    """What differs from seed to seed: where parts were published these are every seed's."""
    published = data in CATALOGUE and CATALOGUE[data].published_parts
    return "splits, each the published one (seeds differ in what is random of a fit alone)" if published else "splits"


def joint_section(path: Path) -> str:
    """A file of ``enstruct-bench joint``."""
    content = json.loads(path.read_text(encoding="utf-8"))
    setting = content["setting"]
    cells = JointFile(path, setting, {}).cells
    reference = content.get("reference", content["runs"][0]["method"])  # a run that was cut off has not written it
    figures, apart = rows_of(cells), differences_of(cells, reference)
    lines = [
        f"## {setting['data']}: label sets as a distribution (`{path.name}`)",
        "",
        f"{spread(cells)} {_splits(setting['data'])}, {setting['rows']['test']} test rows. "
        "NLL: -log p(y given x) in nats a row, of sides without a "
        "joint the product of their marginals; exact: whole sets right, as the side chooses them best on held-out rows; "
        "F1 under the side's best rule with nothing told. @: share of the labels told, F1, average precision and log-loss of the "
        f"others at one threshold from held-out rows. {where_it_ran(setting['environment'])}",
        "",
        *_table(["method", *COLUMNS.values()], figures),
    ]
    if apart:
        lines += [
            f"Differences to {reference}, 95% by bootstrap over splits and their rows; of NLL, loss and asks lower is better.",
            "",
            *_table(["method", *DIFFERENCES.values()], apart),
        ]
    return Text(lines)


def _table(titles: list[str], rows: list[list[Value]]) -> list[str]:
    """Without columns that no row has a figure in."""
    some = [i for i in range(len(titles)) if any(str(row[i]) != ABSENT for row in rows)]
    return markdown_table([titles[i] for i in some], [[row[i] for i in some] for row in rows])
