"""Predict label sets for the rows of a file.

Writes one line a row, labels separated by tabs; to a .jsonl file, objects with labels and probabilities. Labels that are empty
or hold tabs, line breaks or characters that the output's encoding lacks are refused in lines: a .jsonl file holds any.
"""

from __future__ import annotations

from pathlib import Path

from enstruct.cli import options as shared
from enstruct.cli.outputs import add_overwrite
from enstruct.cli.parser import Parser


def parser() -> Parser:
    p = shared.new_parser(__doc__ or "")
    p.add_argument("model", type=Path, help="folder written by `enstruct train`")
    shared.add_data(p)
    p.add_argument("--out", type=Path, default=None, help="file to write (default: standard output)")
    add_overwrite(p)
    p.add_argument("--decision", type=str, default=None, help="another fitted decision rule")
    p.add_argument("--top_k", type=int, default=None, help="the k most probable labels instead")
    p.add_argument("--unlabelled", type=bool, nargs="?", const=True, default=False, help="the file has no labels")
    return p
