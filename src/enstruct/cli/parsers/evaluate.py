"""Score a saved model on labelled rows, under every decision rule it has fitted."""

from __future__ import annotations

from pathlib import Path

from enstruct.cli import options as shared
from enstruct.cli.outputs import add_overwrite
from enstruct.cli.parser import Parser


def parser() -> Parser:
    p = shared.new_parser(__doc__ or "")
    p.add_argument("model", type=Path, help="folder written by `enstruct train`")
    shared.add_data(p)
    p.add_argument("--json", type=shared.json_file, default=None, help="also write the figures to this file")
    add_overwrite(p)
    return p
