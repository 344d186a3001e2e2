"""Run one of the papers' tables under one protocol, or go on with it; `enstruct-bench list` names them.

Tables of label sets are run here cell by cell; finished runs are kept in --results, one JSON line each, and are never made twice.
Tables that other commands make are handed to those commands, and their figures lie in the folder that --results is in.
"""

from __future__ import annotations

from pathlib import Path

from enstruct.cli import options as shared
from enstruct.cli.parser import Parser
from enstruct_bench.cli.parsers.names import joined
from enstruct_bench.reproduce.defaults import SEEDS


def parser() -> Parser:
    p = shared.new_parser(__doc__ or "")
    p.add_argument("table", type=str, help="name of a table; see `enstruct-bench list`")
    p.add_argument(
        "--datasets",
        type=joined,
        default="",
        help="data sets, or parts, joined by commas (default: all that can run here)",
    )
    p.add_argument("--methods", type=joined, default="", help="names joined by commas (default: the table's and the baselines)")
    p.add_argument("--protocol", type=str, default="", help="fair, published (default: the table's)")
    p.add_argument(
        "--seeds", type=int, default=None, help=f"number of seeds, 0 .. N-1 (default: {SEEDS}), or of folds (default: all)"
    )
    p.add_argument(
        "--budget",
        type=float,
        default=None,
        help="minutes; no run begins that would not end in time (a first one is not known); other commands are interrupted",
    )
    p.add_argument(
        "--again", type=bool, nargs="?", const=True, default=False, help="make runs anew that were made with other settings"
    )
    p.add_argument("--results", type=Path, default=Path("results/reproduce"), help="folder of finished runs")
    p.add_argument(
        "--adopt", type=Path, default=None, help="take finished cells of a file of `enstruct-bench compare` instead of running"
    )
    return p
