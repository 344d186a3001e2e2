"""What ``enstruct-bench run`` does; its options are declared in :mod:`enstruct_bench.cli.parsers.run_table`."""

from __future__ import annotations

from jsonargparse import Namespace

from enstruct.cli.progress import successive_bars
from enstruct.cli.tables import say
from enstruct.cli.work import carry_out
from enstruct.errors import ConfigError
from enstruct_bench.comparison.command import Command
from enstruct_bench.reports.reproduced import reproduced_section
from enstruct_bench.reproduce.budget import within
from enstruct_bench.reproduce.commands import run_parts
from enstruct_bench.reproduce.runner import adopt, check_choice, plan
from enstruct_bench.reproduce.runner import run as run_cells
from enstruct_bench.reproduce.store import Store
from enstruct_bench.reproduce.table import CommandTable
from enstruct_bench.reproduce.tables import get_table


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
    if options.protocol or options.adopt is not None or options.again:
        raise ConfigError(f"{table.name} is made by other commands: --protocol, --adopt and --again are not for it.")
    asked = {"seeds": options.seeds, "methods": tuple(_names(options.methods)) or None}
    changed = {name: value for name, value in asked.items() if value is not None}
    with within(options.budget, say):
        run_parts(table, _names(options.datasets), options.results.parent, _work, say, changed)


def _work(command: Command) -> int:
    return carry_out(lambda _: command.run(), Namespace())
