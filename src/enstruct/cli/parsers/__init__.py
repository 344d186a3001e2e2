"""The options of each command, one module a command: its docstring describes the command, ``parser()`` declares its options, and
``add_actions``, where there is one, the commands below it. What train, predict and evaluate declare for one kind of output alone
is in :mod:`labels`, :mod:`tags` and :mod:`masks`.

Nothing here imports what the work needs: ``--help`` and a slip of the keyboard are answered at once.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from enstruct.cli.parser import Parser

NOUNS = {"labels": "label sets", "tags": "tags", "masks": "masks"}


def of_task(task: str) -> Any:
    """The module of a task's own options."""
    return import_module(f"enstruct.cli.parsers.{task}")


def add_saved(p: Parser, task: str) -> None:
    """A saved model, and data for it."""
    p.like_this = "" if task == "labels" else "MODEL"
    p.add_argument("model", type=Path, help="folder written by `enstruct train`")
    of_task(task).add_data(p)
