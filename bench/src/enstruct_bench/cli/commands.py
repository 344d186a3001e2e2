"""``enstruct-bench``: list, run, compare, tags, masks, tune, figure, report, costs.

``enstruct-bench COMMAND --help`` describes each.
"""

from __future__ import annotations

from typing import Any

from enstruct.cli import commands as core
from enstruct.cli.parser import Parser
from enstruct_bench.cli import compare, costs, figure, list_tables, masks, report, run_table, tags, tune
from enstruct_bench.reproduce.table import is_ours

COMMANDS: dict[str, Any] = {
    "list": list_tables,
    "run": run_table,
    "compare": compare,
    "tags": tags,
    "masks": masks,
    "tune": tune,
    "figure": figure,
    "report": report,
    "costs": costs,
}


def build_parser() -> Parser:
    return core.parser_of("enstruct-bench", "Methods under one protocol, and the papers' tables and figures.", COMMANDS)


def run(arguments: list[str] | None = None) -> int:
    """One command of ``enstruct-bench``, as :func:`enstruct.cli.commands.run_command` does it."""
    return core.run_command(build_parser(), COMMANDS, arguments)


def run_either(arguments: list[str]) -> int:
    """One command of ``enstruct-bench`` or of ``enstruct``, whichever has it."""
    return (run if arguments and is_ours(arguments) else core.run)(arguments)
