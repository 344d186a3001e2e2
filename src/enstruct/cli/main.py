"""``enstruct``: demo, train, predict, evaluate, compare, analyse, data; tags, masks; reproduce, tune.

``enstruct COMMAND --help`` describes each.

Most commands take ``--config FILE.yaml`` with any of their options; what stands on the command line wins.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

from jsonargparse import Namespace
from rich.console import Console

from enstruct import __version__
from enstruct.cli import analyse, compare, data, demo, evaluate, masks, predict, reproduce, tags, train, tune
from enstruct.cli.parser import Parser
from enstruct.cli.progress import DownloadBar
from enstruct.data.catalogue import show_downloads
from enstruct.errors import EnstructError

COMMANDS: dict[str, Any] = {
    "demo": demo,
    "train": train,
    "predict": predict,
    "evaluate": evaluate,
    "compare": compare,
    "analyse": analyse,
    "data": data,
    "tags": tags,
    "masks": masks,
    "reproduce": reproduce,
    "tune": tune,
}


def build_parser() -> Parser:
    parser = Parser(prog="enstruct", description="Structured prediction with a learned loss.", version=__version__)
    subcommands = parser.add_subcommands(dest="command", required=True)
    for name, module in COMMANDS.items():
        command = module.parser()
        subcommands.add_subcommand(name, command, help=(module.__doc__ or "").split("\n", 1)[0])
        if hasattr(module, "add_actions"):  # jsonargparse wants levels added from the top
            module.add_actions(command)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit codes: 0 done, 2 bad input (one line on stderr), 130 interrupted, 141 nobody reads what is printed any more."""
    options = build_parser().parse_args(list(arguments) if arguments is not None else None)
    run: Callable[[Namespace], None] = COMMANDS[options.command].run
    show_downloads(DownloadBar)
    try:
        run(options[options.command])
        sys.stdout.flush()
    except BrokenPipeError:  # as under `| head`
        _flush_or_drop()
        return 141
    except (EnstructError, OSError) as error:  # of other libraries' files the system's own word is the best there is
        Console(stderr=True, soft_wrap=True).print(f"error: {error}", style="red", markup=False, highlight=False)
        _flush_or_drop()
        return 2
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    finally:
        show_downloads(None)
    return 0


def _flush_or_drop() -> None:
    """What was printed is shown, or, where it cannot be, goes nowhere: Python would try again when it ends."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
