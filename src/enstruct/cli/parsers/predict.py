"""Predict the label sets, tags or masks of data with a saved model.

{written}

`enstruct predict MODEL --help` shows the options for the kind of output that the model has.
"""

from __future__ import annotations

from enstruct.cli import options as shared
from enstruct.cli.outputs import add_overwrite
from enstruct.cli.parser import Parser
from enstruct.cli.parsers import add_saved, of_task


def parser(task: str) -> Parser:
    declared = of_task(task)
    p = shared.new_parser((__doc__ or "").format(written=declared.WRITTEN))
    add_saved(p, task)
    declared.add_predict(p)
    add_overwrite(p)
    p.add_argument("--decision", type=str, default=None, help=f"another decision rule: {declared.RULES}")
    return p
