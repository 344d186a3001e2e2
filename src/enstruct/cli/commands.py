"""``enstruct``: demo, train, predict, evaluate, report, label, answers, review, export, data, encoder.

``enstruct COMMAND --help`` describes each.

Most commands take ``--config FILE.yaml`` with any of their options; what stands on the command line wins.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module

from enstruct import __version__
from enstruct.cli.parser import Parser
from enstruct.cli.tables import refused
from enstruct.cli.which_task import PLACES, task_of
from enstruct.errors import EnstructError

NAMES = ("demo", "train", "predict", "evaluate", "report", "label", "answers", "review", "export", "data", "encoder")
COMMANDS = {name: f"enstruct.cli.{name}" for name in NAMES}
"""Name -> the module whose ``run(options)`` does the work; see :func:`parser_of` for its options."""
LABORATORY = {"analyse": "figure", "reproduce": "run"} | {
    name: name for name in ("compare", "tune", "tags compare", "tags light", "masks compare")
}
"""What enstruct-bench does since 0.2, by its former name here."""
MOVED = {
    **{name: f"`enstruct-bench {now}`, from `pip install enstruct-bench`" for name, now in LABORATORY.items()},
    **{f"{task} train": f"`enstruct train DATA --out MODEL --task {task}`" for task in ("tags", "masks")},
    **{f"{task} {name}": f"`enstruct {name} MODEL DATA`" for task in ("tags", "masks") for name in ("predict", "evaluate")},
    **{f"{task} picture": "`enstruct evaluate MODEL DATA --pictures FOLDER`" for task in ("tags", "masks")},
    "masks duplicates": "`enstruct data duplicates FOLDER`",
    **{task: f"`enstruct train --task {task}`, and predict, evaluate" for task in ("tags", "masks")},
}
"""Former commands, the longer ones first, and what is typed now."""


def build_parser(words: Sequence[str] = ()) -> Parser:
    """For these words: the options of train, predict, evaluate and report are those of the kind of output that they are about.

    ConfigError and ModelFileError where that cannot be told.
    """
    return parser_of("enstruct", "Structured prediction with a learned loss.", COMMANDS, words, task_of(words))


def parser_of(
    program: str, description: str, commands: Mapping[str, str], words: Sequence[str] = (), task: str | None = None
) -> Parser:
    """``commands`` : name -> a module. The one of the same name in ``parsers`` beside it describes the command in its docstring,
    and has ``parser()`` and, for commands of its own, ``add_actions``. The modules of the work are not imported.
    ``words`` : what is typed. Where they begin with a command, the others have a line of help and no options, which take a while.
    ``task`` : of the commands in ``PLACES``, whose ``parser(task)`` takes it; None where there are none of them.
    """
    typed = words[0] if words and words[0] in commands else None
    parser = Parser(prog=program, description=description, version=__version__)
    subcommands = parser.add_subcommands(dest="command", required=True)
    for name, work in commands.items():
        package, _, module = work.rpartition(".")
        declared = import_module(f"{package}.parsers.{module}")
        asked = typed in (None, name)
        if not asked:
            command = Parser()
        else:
            command = declared.parser(task) if task is not None and name in PLACES else declared.parser()
        subcommands.add_subcommand(name, command, help=(declared.__doc__ or "").split("\n", 1)[0])
        if asked and hasattr(declared, "add_actions"):  # jsonargparse wants levels added from the top
            declared.add_actions(command)
    return parser


def prepared(arguments: list[str] | None = None) -> Callable[[], int]:
    """One command of ``enstruct``; see :func:`prepared_command`."""
    words = sys.argv[1:] if arguments is None else arguments
    for name, now in MOVED.items():
        if words[: name.count(" ") + 1] == name.split():
            return partial(refused, f"There is no `enstruct {name}` since 0.2: it is {now}.")
    try:
        parser = build_parser(words)
    except (EnstructError, OSError, ValueError) as error:  # a name that is too long, or has a NUL in it
        return partial(refused, str(error))
    return prepared_command(parser, COMMANDS, arguments)


def prepared_command(parser: Parser, commands: Mapping[str, str], arguments: list[str] | None = None) -> Callable[[], int]:
    """One command, by default the program's own, understood, and all imported that it needs: what is called to do it, as
    :func:`enstruct.cli.work.carry_out` does. SystemExit for --help, and for options that cannot be taken.
    """
    Parser.files.clear()
    options = parser.parse_args(arguments)
    carry_out = import_module("enstruct.cli.work").carry_out  # torch is imported from here on
    work = import_module(commands[options.command]).run
    return partial(carry_out, work, options[options.command])
