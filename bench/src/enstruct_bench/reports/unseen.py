"""A section of the results page: the default on tables that nothing was chosen on, from a file of
:mod:`enstruct_bench.joint.unseen`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from enstruct_bench.comparison.quantity import Quantity, Value
from enstruct_bench.joint.unseen import HALVES, HINDSIGHT, LEVEL, SINGLE
from enstruct_bench.reports.markdown import Text, markdown_table, where_it_ran

SHOWN = {"f1": "F1", "exact": "exact", "nll": "NLL", "f1@0.5": "F1 @0.5", "loss@0.5": "loss @0.5"}
FORMS = {"nll": ".3f", "loss@0.5": ".4f"}


def unseen_section(path: Path) -> str:
    content = json.loads(path.read_text(encoding="utf-8"))
    titles = ["side", *SHOWN.values(), *(f"Δ {title} [95%]" for title in SHOWN.values()), "joint ahead / level / behind", "fit s"]
    rows = [_row(line) for line in content["compared"]]
    own = [
        [
            *(row[key] for key in ("table", "rows", "features", "labels", "base")),
            *(Quantity(row["sides"][side]["f1"], form=".2f") for side in ("joint", *(f"base:{name}" for name in SINGLE))),
        ]
        for row in content["rows"]
    ]
    return Text(
        [
            f"## Tables that nothing was chosen on (`{path.name}`)",
            "",
            f"{len(content['rows'])} real tables of R's packages, taken by rules alone (`joint/r_tables.py`): 200 to 3,000 rows, "
            "columns of two values as labels, the others as features. One 60/20/20 split each, means over tables; Δ: side less "
            "joint, 95% by bootstrap over tables; of NLL and loss lower is better. The joint is the default, without arguments. "
            f'"{HINDSIGHT}": the best of {", ".join(SINGLE)} on each table, taken by the F1 of the very test rows that it is '
            f'judged on, which is better than any choice can be; "{HALVES}": taken by one half of them and judged on the other. '
            f"Ahead and behind: by more than {LEVEL} points of F1. Seconds are medians, with other work on the machine. "
            f"Commit {content['commit']}. {where_it_ran(content['environment'])}",
            "",
            *markdown_table(titles, rows),
            "",
            "F1 of each table.",
            "",
            *markdown_table(("table", "rows", "features", "labels", "base of the joint", "joint", *SINGLE), own),
        ]
    )


def _row(line: dict[str, Any]) -> list[Value]:
    apart = [_apart(line.get(f"{figure} apart"), FORMS.get(figure, ".2f")) for figure in SHOWN]
    ahead = " / ".join(map(str, line["ahead"])) if "ahead" in line else "–"
    seconds = Quantity(line["fit_seconds"], form=".1f") if "fit_seconds" in line else "–"
    return [line["side"], *(_mean(line, figure) for figure in SHOWN), *apart, ahead, seconds]


def _mean(line: dict[str, Any], figure: str) -> Value:
    return Quantity(line[figure], form=FORMS.get(figure, ".2f")) if figure in line else "–"


def _apart(apart: list[float] | None, form: str) -> Value:
    return "–" if apart is None else Quantity(apart[0], low=apart[1], high=apart[2], form=form)
