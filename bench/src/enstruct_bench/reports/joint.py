"""Sections of the results page for joint distributions over label sets: files of ``enstruct-bench joint --json``."""

from __future__ import annotations

import json
from pathlib import Path

from enstruct.data.catalogue import CATALOGUE
from enstruct_bench.comparison.quantity import Value
from enstruct_bench.comparison.summary import spread
from enstruct_bench.joint.results import JointFile
from enstruct_bench.joint.summary import COLUMNS, DIFFERENCES, Cells, differences_of, rows_of
from enstruct_bench.reports.markdown import Text, markdown_table, where_it_ran

ABSENT = "–"
FEW = ("nll", "questions")
"""Figures that may be of fewer rows than are tested."""
SAME = ", each the published one (seeds differ in what is random of a fit alone)"


def _is_published(data: str) -> bool:
    """Whether parts were published: these are every seed's."""
    return data in CATALOGUE and bool(CATALOGUE[data].published_parts)


def _few(cells: Cells, n_test: int) -> str:
    """What is not of all test rows, and of how many it is."""
    shapes = {figure: [cell.rows[figure].above.shape for cell in cells.values() if figure in cell.rows] for figure in FEW}
    found = {figure: {shape[0] for shape in of_cells} for figure, of_cells in shapes.items()}
    said = []
    if max(found["nll"], default=n_test) < n_test / 2:  # splits drawn anew differ by a few
        said.append(f" NLL, exact and F1 are of {max(found['nll'])} of these rows, spread evenly.")
    if found["questions"]:
        said.append(f" Asks: of {max(found['questions'])} rows, of more than 20 labels a twentieth at a time.")
    return "".join(said)


def joint_section(path: Path) -> str:
    """A file of ``enstruct-bench joint``."""
    content = json.loads(path.read_text(encoding="utf-8"))
    setting = content["setting"]
    cells = JointFile(path, setting, {}).cells
    reference = content.get("reference", content["runs"][0]["method"])  # a run that was cut off has not written it
    same_rows = _is_published(setting["data"])
    figures, apart = rows_of(cells), differences_of(cells, reference, same_rows=same_rows)
    lines = [
        f"## {setting['data']}: label sets as a distribution (`{path.name}`)",
        "",
        f"{spread(cells)} splits{SAME if same_rows else ''}, {setting['rows']['test']} test rows."
        f"{_few(cells, setting['rows']['test'])} "
        "NLL: -log p(y given x) in nats a row, of sides without a "
        "joint the product of their marginals; exact: whole sets right, as the side chooses them best on held-out rows; "
        "F1 under the side's best rule with nothing told. @: share of the labels told, F1, average precision and log-loss of the "
        f"others at one threshold from held-out rows. {where_it_ran(setting['environment'])}",
        "",
        *_table(["method", *COLUMNS.values()], figures),
    ]
    if apart:
        lines += [
            f"Differences to {reference}, 95% by bootstrap over {'seeds and rows' if same_rows else 'splits and their rows'}; "
            "of NLL, loss and asks lower is better.",
            "",
            *_table(["method", *DIFFERENCES.values()], apart),
        ]
    return Text(lines)


def _table(titles: list[str], rows: list[list[Value]]) -> list[str]:
    """Without columns that no row has a figure in."""
    some = [i for i in range(len(titles)) if any(str(row[i]) != ABSENT for row in rows)]
    return markdown_table([titles[i] for i in some], [[row[i] for i in some] for row in rows])
