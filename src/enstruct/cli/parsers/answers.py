"""Make data of the answers that `enstruct label` or `enstruct review` wrote: DATA with what was told, for `enstruct train`.

A table keeps its columns, and every label has one of 1, 0 or, where nothing is known, nothing; JSON lines keep their fields.
Of other formats a CSV file is made. Of tags the finished sentences are written as CoNLL columns, of masks the finished pictures
with their masks as a folder. Where DATA lie is in the file of answers, unless --data names another place.
"""

from __future__ import annotations

from pathlib import Path

from enstruct.cli import options as shared
from enstruct.cli.outputs import add_overwrite
from enstruct.cli.parser import Parser


def parser() -> Parser:
    p = shared.new_parser(__doc__ or "")
    p.add_argument("answers", type=Path, help="file of answers")
    p.add_argument("--out", type=Path, required=True, help="file to write (.csv, .jsonl, .conll), or folder of masks")
    p.add_argument("--data", type=str | None, default=None, help="where DATA lie now")
    add_overwrite(p)
    return p
