"""What everything costs, as one table; --measure measures it anew on this machine (ten to twenty minutes when it is idle).

Files of other versions or machines are named and left out: what stands in the table was measured in one place.
"""

from __future__ import annotations

from pathlib import Path

from enstruct.cli import options as shared
from enstruct.cli.parser import Parser


def parser() -> Parser:
    p = shared.new_parser(__doc__ or "")
    p.add_argument("--results", type=Path, default=Path("results"), help="folder of the figures")
    p.add_argument("--measure", type=bool, nargs="?", const=True, default=False, help="measure everything anew")
    return p
