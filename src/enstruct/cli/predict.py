"""What ``enstruct predict`` does; its options are declared in :mod:`enstruct.cli.parsers.predict`."""

from __future__ import annotations

from pathlib import Path

from jsonargparse import Namespace

from enstruct.cli.task_files import files_of
from enstruct.cli.which_task import task_of_model


def run(options: Namespace) -> None:
    task = task_of_model(options.model)
    files = files_of(task)
    if options.out == Path("-") and task != "masks":  # which go to a folder
        options.out = None  # standard output
    files.check_out(options)
    model = files.load(options)
    files.write(model, files.read_unanswered(model, options), options)
