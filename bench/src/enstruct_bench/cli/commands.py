"""``enstruct-bench``: list, run, compare, tags, masks, tune, figure, report, costs.

``enstruct-bench COMMAND --help`` describes each.
"""

from __future__ import annotations

from collections.abc import Callable

from enstruct.cli import commands as core
from enstruct.cli.parser import Parser

MODULES = {"list": "list_tables", "run": "run_table"}
"""Of commands whose names are taken in Python."""
NAMES = ("list", "run", "compare", "tags", "masks", "tune", "figure", "report", "costs")
COMMANDS = {name: f"enstruct_bench.cli.{MODULES.get(name, name)}" for name in NAMES}
"""As :data:`enstruct.cli.commands.COMMANDS`."""


def build_parser() -> Parser:
    return core.parser_of("enstruct-bench", "Methods under one protocol, and the papers' tables and figures.", COMMANDS)


def prepared(arguments: list[str] | None = None) -> Callable[[], int]:
    """One command of ``enstruct-bench``, as :func:`enstruct.cli.commands.prepared_command` does it."""
    return core.prepared_command(build_parser(), COMMANDS, arguments)


def prepared_either(arguments: list[str]) -> Callable[[], int]:
    """One command of ``enstruct-bench`` or of ``enstruct``, whichever has it."""
    from enstruct_bench.reproduce.table import is_ours  # with the library's methods, and so torch

    return (prepared if arguments and is_ours(arguments) else core.prepared)(arguments)
