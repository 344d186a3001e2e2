"""Score a saved model on data with their truth, under every decision rule that it has.

`enstruct evaluate MODEL --help` shows the options for the kind of output that the model has.
"""

from __future__ import annotations

from pathlib import Path

from enstruct.cli import options as shared
from enstruct.cli.outputs import add_overwrite
from enstruct.cli.parser import Parser
from enstruct.cli.parsers import add_saved, of_task


def parser(task: str) -> Parser:
    declared = of_task(task)
    p = shared.new_parser(__doc__ or "")
    add_saved(p, task)
    declared.add_evaluate(p)
    p.add_argument("--pictures", type=Path, default=None, help=f"folder to draw {declared.DRAWN} in")
    p.add_argument("--json", type=shared.json_file, default=None, help="also write the figures to this file")
    add_overwrite(p)
    return p
