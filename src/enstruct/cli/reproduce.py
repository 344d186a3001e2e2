"""The papers' tables, under one protocol: list them, run them, go on with them.

Tables of label sets are run here cell by cell; finished runs are kept in --results, one JSON line each, and are never made twice.
Tables that other commands make are handed to those commands, and their figures lie in the folder that --results is in.
"""

from __future__ import annotations

from pathlib import Path

from jsonargparse import Namespace
from rich.console import Console
from rich.table import Table as Grid

from enstruct.cli import options as shared
from enstruct.cli.parser import Parser
from enstruct.cli.progress import successive_bars
from enstruct.cli.tables import say
from enstruct.errors import ConfigError, DataError
from enstruct.reports.reproduced import reproduced_section
from enstruct.reproduce.budget import within
from enstruct.reproduce.commands import finished, made_elsewhere, run_parts
from enstruct.reproduce.runner import SEEDS, adopt, check_choice, plan
from enstruct.reproduce.runner import run as run_cells
from enstruct.reproduce.store import Store
from enstruct.reproduce.table import CommandTable, LabelTable
from enstruct.reproduce.tables import TABLES, get_table


def parser() -> Parser:
    p = shared.new_parser(__doc__ or "")
    p.add_argument("table", type=str, nargs="?", default=None, help="name of a table; see --list")
    p.add_argument("--list", type=bool, nargs="?", const=True, default=False, help="the tables, and what is finished of each")
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
        "--adopt", type=Path, default=None, help="take finished cells of a file of `enstruct compare` instead of running"
    )
    return p


def run(options: Namespace) -> None:
    if options.list or options.table is None:
        _list(options.results)
        return
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


def _list(results: Path) -> None:
    grid = Grid("table", "what", "published as", "data sets or parts", "finished runs")
    for table in TABLES.values():
        if isinstance(table, LabelTable):
            parts = ", ".join(table.datasets)
            done = _finished(results, table)
        else:
            parts = ", ".join(table.parts) or "absent: " + ", ".join(table.absent)
            done = ", ".join(_told(results.parent, part) for part in table.parts if finished(results.parent, part)) or "–"
        grid.add_row(table.name, table.title, table.published_as, parts, done)
    Console(width=200).print(grid)


def _told(results: Path, part: str) -> str:
    return part + (" (on another machine or version)" if made_elsewhere(results, part) else "")


def _finished(results: Path, table: LabelTable) -> str:
    """How many runs, and how many of other places; a damaged file does not keep the other tables from being listed."""
    try:
        store = Store(results, table.name)
        return str(len(store.runs)) + (f" ({len(store.elsewhere)} kept apart)" if store.elsewhere else "")
    except DataError as error:
        return f"damaged: {error}"


def _hand_over(table: CommandTable, options: Namespace) -> None:
    """Run the commands of the table's parts."""
    from enstruct.cli.commands import run as enstruct  # this module is one of its commands

    if options.protocol or options.adopt is not None or options.again:
        raise ConfigError(f"{table.name} is made by other commands: --protocol, --adopt and --again are not for it.")
    asked = {"--seeds": options.seeds, "--methods": options.methods or None}
    given = {name: str(value) for name, value in asked.items() if value is not None}
    with within(options.budget, say):
        run_parts(table, _names(options.datasets), options.results.parent, enstruct, say, given)
