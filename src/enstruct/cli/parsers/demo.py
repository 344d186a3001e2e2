"""The synthetic task of the SPEN paper: linear, MLP and SEAL, a table, and the learned measurement matrix.

Labels come in four blocks of four with exactly one on in each; the picture shows whether the energy has
found the blocks. Nothing is downloaded.
"""

from __future__ import annotations

from pathlib import Path

from enstruct.cli import options as shared
from enstruct.cli.outputs import add_overwrite
from enstruct.cli.parser import Parser


def parser() -> Parser:
    p = shared.new_parser(__doc__ or "")
    p.add_argument("--out", type=Path, default=Path("demo-output"), help="folder for results.json and the picture")
    add_overwrite(p)
    p.add_argument("--rows", type=int, default=1500)
    p.add_argument("--seed", type=shared.Seed, default=0)
    return p
