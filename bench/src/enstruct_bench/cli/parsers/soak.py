"""Long use: predictions in threads and in processes, fits one after another. Equal answers, and memory that stays where it is.

Eight threads, and processes forked and spawned. Exit code 1 where an answer is another or memory grows. See
docs/promise.md.
"""

from __future__ import annotations

from pathlib import Path

from enstruct.cli import options as shared
from enstruct.cli.parser import Parser


def parser() -> Parser:
    p = shared.new_parser(__doc__ or "")
    p.add_argument("--predictions", type=int, default=100_000, help="shared among kinds of models and ways to ask them")
    p.add_argument("--fits", type=int, default=50)
    p.add_argument("--processes", type=int, default=4, help="forked, and as many spawned")
    p.add_argument("--json", type=Path | None, default=None, help="file of the table")
    return p
