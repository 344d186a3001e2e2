"""What a command may write over. One rule for all of them:

A file that is there already is left alone, and the command refused before it does any work, unless --overwrite is given. What
says itself that the same command wrote it is renewed without: files of figures (JSON), and the pictures that lie beside such.
Models, results and trials that a command goes on with are its own files too, and checked where they are read.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from enstruct.cli.parser import Parser
from enstruct.errors import ConfigError, DataError, SaveError
from enstruct.records import Shape, read_record

RULE = "write over files that are there; without it only figures of an earlier run of this command are (default: false)"


def add_overwrite(p: Parser) -> None:
    p.add_argument("--overwrite", type=bool, nargs="?", const=True, default=False, help=RULE)


def check_free(paths: Iterable[Path], overwrite: bool) -> None:
    """Whether these files may be written: ConfigError for what is there, or is a folder; SaveError where nothing can be."""
    for path in paths:
        if path.is_dir() or not path.name:
            raise ConfigError(f"{path} is a folder: name a file.")
        if path.exists() and not path.is_file():
            raise ConfigError(f"{path} is no regular file, and would be replaced by one: name another.")
        if os.path.lexists(path) and not overwrite:
            raise ConfigError(f"{path} is there already: name another, or add --overwrite to write over it.")
        _check_folder(path)


def check_figures(path: Path, overwrite: bool, shape: Shape, beside: Iterable[Path] = ()) -> None:
    """As ``check_free``, but figures of the same command, of that shape, are renewed, and with them what lies ``beside``."""
    with suppress(DataError):
        read_record(path, shape, "not of this command")
        overwrite = True
    check_free([path, *beside], overwrite)


def check_names(what: str, names: Iterable[str], out: Path | None, apart: str, instead: str) -> None:
    """DataError for a name that could not be read again where names stand in lines, with one of ``apart`` between them.

    ``out``: where they go, None for standard output. ``instead``: what holds any name.
    """
    encoding = "utf-8" if out is not None else sys.stdout.encoding or "utf-8"
    for name in names:
        try:
            fits = name.splitlines() == [name] and not {*apart} & {*name} and bool(name.encode(encoding))
        except UnicodeEncodeError:
            fits = False
        if not fits:
            raise DataError(
                f"The {what} {name!r} cannot stand in a line: it is empty, or holds a tab, a line break or the like, or what "
                f"{encoding} lacks. {instead}"
            )


def _check_folder(path: Path) -> None:
    """SaveError if the folder of the file is none, or cannot be made or written in."""
    folder = path.absolute().parent
    while not os.path.lexists(folder) and folder != folder.parent:
        folder = folder.parent
    if not folder.is_dir():
        raise SaveError(f"{path} cannot be written: {folder} is no folder. Name another place.")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise SaveError(f"{path} cannot be written: nothing may be written in {folder}. Name another place.")
