"""Run one of the papers' tables under one protocol, or go on with it; `enstruct-bench list` names them.

Tables of label sets are run here cell by cell; finished runs are kept in --results, one JSON line each, and are never made twice.
Tables that other commands make are handed to those commands, and their figures lie in the folder that --results is in.
"""

from __future__ import annotations

from pathlib import Path

from jsonargparse import Namespace

from enstruct.cli import options as shared
from enstruct.cli.parser import Parser
from enstruct.cli.progress import successive_bars
from enstruct.cli.tables import say
from enstruct.errors import ConfigError
from enstruct_bench.reports.reproduced import reproduced_section
from enstruct_bench.reproduce.budget import within
from enstruct_bench.reproduce.commands import run_parts
from enstruct_bench.reproduce.runner import SEEDS, adopt, check_choice, plan
from enstruct_bench.reproduce.runner import run as run_cells
from enstruct_bench.reproduce.store import Store
from enstruct_bench.reproduce.table import CommandTable
from enstruct_bench.reproduce.tables import get_table


def parser() -> Parser:
    p = shared.new_parser(__doc__ or "")
    p.add_argument("table", type=str, help="name of a table; see `enstruct-bench list`")
    p.add_argument(
        "--datasets",
        type=shared.joined,
        default="",
        help="data sets, or parts, joined by commas (default: all that can run here)",
    )
    p.add_argument(
        "--methods", type=shared.joined, default="", help="names joined by commas (default: the table's and the baselines)"
    )
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


def run(options: Namespace) -> None:
    if options.budget is not None and not options.budget > 0:
        raise ConfigError(f"--budget is a number of minutes above 0, not {options.budget}.")
    table = get_table(options.table)
    if isinstance(table, CommandTable):
        _hand_over(table, options)
        return
    store = Store(options.results, table.name)
    if options.adopt is not None:
        say(f"{adopt(table, store, options.adopt)} runs taken from {options.adopt}")
        return
    datasets, protocols = check_choice(table, _names(options.datasets), _names(options.protocol))
    methods = _names(options.methods) or list(table.methods())
    with successive_bars() as bar:
        keys = list(plan(table, datasets, protocols, methods, options.seeds))
        if not keys:
            raise ConfigError(f"{table.name} has no run of {', '.join(methods)} under {', '.join(protocols)}.")
        made = run_cells(table, store, keys, options.budget, bar, say, bool(options.datasets), options.again)
    say(f"{made} runs made, {len(store.runs)} in {store.path}")
    say(reproduced_section(table, store, datasets))


def _names(joined: str) -> list[str]:
    names = [name.strip() for name in joined.split(",")]
    if joined and not all(names):
        raise ConfigError(f"{joined!r} is no list of names joined by commas.")
    return [name for name in names if name]


def _hand_over(table: CommandTable, options: Namespace) -> None:
    """Run the commands of the table's parts."""
    from enstruct_bench.cli.commands import run_either  # this module is one of its commands

    if options.protocol or options.adopt is not None or options.again:
        raise ConfigError(f"{table.name} is made by other commands: --protocol, --adopt and --again are not for it.")
    asked = {"--seeds": options.seeds, "--methods": options.methods or None}
    given = {name: str(value) for name, value in asked.items() if value is not None}
    with within(options.budget, say):
        run_parts(table, _names(options.datasets), options.results.parent, run_either, say, given)
