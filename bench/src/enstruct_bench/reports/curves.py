"""A section of the results page: how seconds grow with the data, from the file of :mod:`enstruct_bench.costs.curves`."""

from __future__ import annotations

import json
from pathlib import Path

from enstruct_bench.comparison.quantity import Quantity, Value
from enstruct_bench.costs.curves import exponent
from enstruct_bench.reports.markdown import Text, markdown_table, where_it_ran

TITLES = ("size", "method", "from", "to", "pass s", "exponent", "answer s", "exponent", "on paper: of", "pass h", "answer h")


def curves_section(path: Path) -> str:
    content = json.loads(path.read_text(encoding="utf-8"))
    rows: list[list[Value]] = []
    for row in content["rows"]:
        sizes, line = row["sizes"], [row["what"], row["method"], row["sizes"][0], row["sizes"][-1]]
        hours = []
        for seconds in (row["train"], row["answer"]):
            power = exponent(sizes, seconds)
            line += [Quantity(seconds[-1]), Quantity(power)]
            hours.append(Quantity(seconds[-1] * (row["paper"] / sizes[-1]) ** power / 3600, form=".3g"))
        rows.append([*line, row["paper"], *hours])
    lines = [
        f"## How seconds grow with the data (`{path.name}`)",
        "",
        "One pass of training and one prediction of the same rows, on generated data, one size changed at a time: seconds at the "
        "largest, and the exponent b of seconds = a size^b between the two largest. On paper: what that power gives further on, "
        "on one core; nothing of that size was run, and where the exponent still rises it is a lower bound. "
        f"{where_it_ran(content['environment'])}",
        "",
        *markdown_table(TITLES, rows),
    ]
    return Text(lines)
