"""``enstruct-bench``: list, run, compare, joint, holes, light, tune, figure, report, costs, workbench; the campaigns fuzz, kill,
race and soak; licences.

``enstruct-bench COMMAND --help`` describes each.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial

from enstruct.cli import commands as core
from enstruct.cli.parser import Parser
from enstruct.cli.tables import refused
from enstruct.cli.which_task import task_of
from enstruct.errors import EnstructError

MODULES = {"list": "list_tables", "run": "run_table"}
"""Of commands whose names are taken in Python."""
NAMES = (
    *("list", "run", "compare", "joint", "holes", "light", "tune", "figure", "report", "costs", "workbench"),
    *("fuzz", "kill", "race", "soak", "licences"),
)
COMMANDS = {name: f"enstruct_bench.cli.{MODULES.get(name, name)}" for name in NAMES}
"""As :data:`enstruct.cli.commands.COMMANDS`."""
BY_TASK = ("compare", "joint")
SMALL_TABLES = ("digits", "breast", "wine", "diabetes")
"""Those of :mod:`enstruct_bench.joint.small_tables`, which takes seconds to import: they hold label sets."""
MOVED = {"tags compare": "compare", "tags light": "light", "masks compare": "compare"}
"""Commands by their former names."""


def build_parser(arguments: Sequence[str] = ()) -> Parser:
    """The options of ``compare`` and ``joint`` are those of the task that the arguments say, as of `enstruct train`.

    ConfigError where they say none.
    """
    task, name = "labels", arguments[0] if arguments else ""
    if name in BY_TASK and not {*SMALL_TABLES} & {*arguments}:
        task = task_of(["train", *arguments[1:]])
    declared = COMMANDS if task == "labels" else {**COMMANDS, name: f"enstruct_bench.cli.{name}_{task}"}
    about = "Methods under one protocol, and the papers' tables and figures."
    return core.parser_of("enstruct-bench", about, declared, arguments)


def prepared(arguments: list[str] | None = None) -> Callable[[], int]:
    """One command of ``enstruct-bench``, as :func:`enstruct.cli.commands.prepared_command` does it."""
    words = sys.argv[1:] if arguments is None else arguments
    if now := MOVED.get(" ".join(words[:2])):
        return partial(refused, f"`enstruct-bench {' '.join(words[:2])} DATA` is `enstruct-bench {now} DATA` now.")
    try:
        parser = build_parser(words)
    except EnstructError as error:
        return partial(refused, str(error))
    return core.prepared_command(parser, COMMANDS, arguments)
