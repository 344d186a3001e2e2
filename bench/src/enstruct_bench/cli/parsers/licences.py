"""List the licences of all that enstruct stands on, as the packages that are installed here declare them.

With --pyproject, also of the groups in that file: what the tests need. Exit code 1 where a package declares none.
"""

from __future__ import annotations

from pathlib import Path

from enstruct.cli import options as shared
from enstruct.cli.parser import Parser


def parser() -> Parser:
    p = shared.new_parser(__doc__ or "")
    p.add_argument("--pyproject", type=Path | None, default=None, help="a pyproject.toml, whose dependency groups count too")
    return p
