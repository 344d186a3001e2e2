"""``enstruct``: demo, train, predict, evaluate, data; tags, masks.

``enstruct COMMAND --help`` describes each.

Most commands take ``--config FILE.yaml`` with any of their options; what stands on the command line wins.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module

from enstruct import __version__
from enstruct.cli.parser import Parser
from enstruct.cli.refusal import refused

COMMANDS = {name: f"enstruct.cli.{name}" for name in ("demo", "train", "predict", "evaluate", "data", "tags", "masks")}
"""Name -> the module whose ``run(options)`` does the work; see :func:`parser_of` for its options."""


MOVED = {
    "compare": "compare",
    "analyse": "figure",
    "reproduce": "run",
    "tune": "tune",
    "tags compare": "tags compare",
    "tags light": "tags light",
    "masks compare": "masks compare",
}
"""What enstruct-bench does since 0.2, by its former name here."""


def build_parser() -> Parser:
    return parser_of("enstruct", "Structured prediction with a learned loss.", COMMANDS)


def parser_of(program: str, description: str, commands: Mapping[str, str]) -> Parser:
    """``commands`` : name -> a module. The one of the same name in ``parsers`` beside it describes the command in its docstring,
    and has ``parser()`` and, for commands of its own, ``add_actions``. The modules of the work are not imported.
    """
    parser = Parser(prog=program, description=description, version=__version__)
    subcommands = parser.add_subcommands(dest="command", required=True)
    for name, work in commands.items():
        package, _, module = work.rpartition(".")
        declared = import_module(f"{package}.parsers.{module}")
        command = declared.parser()
        subcommands.add_subcommand(name, command, help=(declared.__doc__ or "").split("\n", 1)[0])
        if hasattr(declared, "add_actions"):  # jsonargparse wants levels added from the top
            declared.add_actions(command)
    return parser


def prepared(arguments: list[str] | None = None) -> Callable[[], int]:
    """One command of ``enstruct``; see :func:`prepared_command`."""
    words = sys.argv[1:] if arguments is None else arguments
    for name, now in MOVED.items():
        if words[: name.count(" ") + 1] == name.split():
            return partial(refused, f"`enstruct {name}` is `enstruct-bench {now}` since 0.2: pip install enstruct-bench.")
    return prepared_command(build_parser(), COMMANDS, arguments)


def prepared_command(parser: Parser, commands: Mapping[str, str], arguments: list[str] | None = None) -> Callable[[], int]:
    """One command, by default the program's own, understood, and all imported that it needs: what is called to do it, as
    :func:`enstruct.cli.work.carry_out` does. SystemExit for --help, and for options that cannot be taken.
    """
    Parser.files.clear()
    options = parser.parse_args(arguments)
    carry_out = import_module("enstruct.cli.work").carry_out  # torch is imported from here on
    work = import_module(commands[options.command]).run
    return partial(carry_out, work, options[options.command])
