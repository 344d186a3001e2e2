"""The papers' tables: what each holds, and what is finished of it."""

from __future__ import annotations

from pathlib import Path

from enstruct.cli import options as shared
from enstruct.cli.parser import Parser


def parser() -> Parser:
    p = shared.new_parser(__doc__ or "")
    p.add_argument("--results", type=Path, default=Path("results/reproduce"), help="folder of finished runs")
    return p
