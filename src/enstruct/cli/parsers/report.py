"""Write a report on a saved model and data with their truth: one HTML file, which refers to nothing outside of itself.

It shows the data, scores under every fitted decision rule with intervals of 95% by drawing rows anew, calibration, how labels
hang together by the energy and in the data, the energy between predictions and truths, the rows answered worst, given labels that
may be wrong, and cost. What a kind of model does not have is left out, and said. It is read without JavaScript, in light or dark,
and printed.

`enstruct report MODEL --help` shows the options for the kind of output that the model has.
"""

from __future__ import annotations

from pathlib import Path

from enstruct.cli import options as shared
from enstruct.cli.outputs import add_overwrite
from enstruct.cli.parser import Parser
from enstruct.cli.parsers import add_saved


def parser(task: str) -> Parser:
    p = shared.new_parser(__doc__ or "")
    add_saved(p, task)
    p.add_argument("--out", type=Path, required=True, help="HTML file to write")
    p.add_argument("--decision", type=str | None, default=None, help="another fitted rule, whose answers are looked at")
    p.add_argument(
        "--seed", type=shared.Seed, default=0, help="of what is drawn by chance: rows for intervals, rows that are shown"
    )
    add_overwrite(p)
    return p
