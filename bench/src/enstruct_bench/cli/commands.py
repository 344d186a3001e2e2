"""``enstruct-bench``: list, run, compare, light, tune, figure, report, costs.

``enstruct-bench COMMAND --help`` describes each.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from enstruct.cli import commands as core
from enstruct.cli.parser import Parser
from enstruct.cli.refusal import refused

MODULES = {"list": "list_tables", "run": "run_table"}
"""Of commands whose names are taken in Python."""
NAMES = ("list", "run", "compare", "light", "tune", "figure", "report", "costs")
COMMANDS = {name: f"enstruct_bench.cli.{MODULES.get(name, name)}" for name in NAMES}
"""As :data:`enstruct.cli.commands.COMMANDS`."""
MOVED = {"tags compare": "compare", "tags light": "light", "masks compare": "compare"}
"""Commands by their former names."""
TAG_ENDINGS = (".conll", ".conllu", ".tsv", ".tagged", ".cite")
"""Of files, also of compressed ones, as :data:`enstruct.tasks.TAGS` has them, which would import torch."""


def build_parser(arguments: Sequence[str] = ()) -> Parser:
    """The options of ``compare`` are those of the task that the arguments say."""
    task = task_of(arguments[1:]) if arguments and arguments[0] == "compare" else "labels"
    declared = COMMANDS if task == "labels" else {**COMMANDS, "compare": f"enstruct_bench.cli.compare_{task}"}
    return core.parser_of("enstruct-bench", "Methods under one protocol, and the papers' tables and figures.", declared)


def task_of(arguments: Sequence[str]) -> str:
    """What data a command is for: as --task says, else by DATA, the first word that is neither an option nor its value."""
    data, words = None, iter(arguments)
    for word in words:
        name, _, value = word.partition("=")
        if name == "--task":
            value = value or next(words, "")
            return value if value in ("tags", "masks") else "labels"
        if name.startswith("-"):
            if name != word or name in ("-h", "--help"):
                continue
            next(words, None)
        elif data is None:
            data = Path(word)
    if data is None or data.suffix in (".csv", ".arff", ".svm", ".npz"):
        return "labels"
    from enstruct.data.image_folders import NAMED
    from enstruct.data.tagged import TAGGED

    if data.is_dir() or str(data) in NAMED:
        return "masks"
    return "tags" if str(data) in TAGGED or {*data.suffixes} & {*TAG_ENDINGS} else "labels"


def prepared(arguments: list[str] | None = None) -> Callable[[], int]:
    """One command of ``enstruct-bench``, as :func:`enstruct.cli.commands.prepared_command` does it."""
    words = sys.argv[1:] if arguments is None else arguments
    if now := MOVED.get(" ".join(words[:2])):
        return partial(refused, f"`enstruct-bench {' '.join(words[:2])} DATA` is `enstruct-bench {now} DATA` now.")
    return core.prepared_command(build_parser(words), COMMANDS, arguments)


def prepared_either(arguments: list[str]) -> Callable[[], int]:
    """One command of ``enstruct-bench`` or of ``enstruct``, whichever has it."""
    from enstruct_bench.reproduce.table import is_ours  # with the library's methods, and so torch

    return (prepared if arguments and is_ours(arguments) else core.prepared)(arguments)
