"""``enstruct``: demo, train, predict, evaluate, data; tags, masks.

``enstruct COMMAND --help`` describes each.

Most commands take ``--config FILE.yaml`` with any of their options; what stands on the command line wins.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from jsonargparse import Namespace
from rich.console import Console

from enstruct import __version__
from enstruct.cli import data, demo, evaluate, masks, predict, tags, train
from enstruct.cli.main import flush_or_drop
from enstruct.cli.parser import Parser, shortened
from enstruct.cli.progress import DownloadBar
from enstruct.data.catalogue import show_downloads
from enstruct.errors import EnstructError

COMMANDS: dict[str, Any] = {
    "demo": demo,
    "train": train,
    "predict": predict,
    "evaluate": evaluate,
    "data": data,
    "tags": tags,
    "masks": masks,
}


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


def parser_of(program: str, description: str, commands: dict[str, Any]) -> Parser:
    """``commands`` : name -> a module with ``parser()``, ``run(options)`` and, for commands of its own, ``add_actions``."""
    parser = Parser(prog=program, description=description, version=__version__)
    subcommands = parser.add_subcommands(dest="command", required=True)
    for name, module in commands.items():
        command = module.parser()
        subcommands.add_subcommand(name, command, help=(module.__doc__ or "").split("\n", 1)[0])
        if hasattr(module, "add_actions"):  # jsonargparse wants levels added from the top
            module.add_actions(command)
    return parser


def run(arguments: list[str] | None = None) -> int:
    """One command of ``enstruct``; see :func:`run_command`."""
    words = sys.argv[1:] if arguments is None else arguments
    for name, now in MOVED.items():
        if words[: name.count(" ") + 1] == name.split():
            return _refused(f"`enstruct {name}` is `enstruct-bench {now}` since 0.2: pip install enstruct-bench.")
    return run_command(build_parser(), COMMANDS, arguments)


def run_command(parser: Parser, commands: dict[str, Any], arguments: list[str] | None = None) -> int:
    """One command, by default the program's own; 0 done, 2 bad input (one line on stderr), 141 nobody reads any more.

    KeyboardInterrupt is for the caller; its notes say what is kept.
    """
    Parser.files.clear()
    options = parser.parse_args(arguments)
    work: Callable[[Namespace], None] = commands[options.command].run
    show_downloads(DownloadBar)
    try:
        work(options[options.command])
        sys.stdout.flush()
    except BrokenPipeError:  # as under `| head`
        flush_or_drop()
        return 141
    except (EnstructError, OSError) as error:  # of other libraries' files the system's own word is the best there is
        return _refused(str(error))
    except MemoryError as error:
        return _refused(f"More memory is needed than there is ({error or 'no size is known'}): ask for less at a time.")
    except UnicodeEncodeError as error:
        return _refused(f"What is to be printed cannot be written in {error.encoding}: set PYTHONIOENCODING=utf-8.")
    finally:
        show_downloads(None)
    return 0


def _refused(why: str) -> int:
    Console(stderr=True, soft_wrap=True).print(f"error: {shortened(why)}", style="red", markup=False, highlight=False)
    flush_or_drop()
    return 2
