"""What ``enstruct answers`` does; its options are declared in :mod:`enstruct.cli.parsers.answers`."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from jsonargparse import Namespace

from enstruct.cli.outputs import check_free
from enstruct.cli.tables import counted, say
from enstruct.data.dataset import Dataset
from enstruct.data.image_folders import read_pictures
from enstruct.data.kinds import ending
from enstruct.data.load import load
from enstruct.data.tagged import read_tagged
from enstruct.errors import ConfigError, DataError, ParseError
from enstruct.records import Shape, fits
from enstruct.workbench.header import content_of
from enstruct.workbench.journal import Journal
from enstruct.workbench.masks import write_pictures
from enstruct.workbench.tag_sequences import write_sentences
from enstruct.workbench.written import Written, filled

HOW: dict[str, Shape] = {
    "labels": {"given": bool, "labels": (int, str, [str], None), "columns": [str], "drop": [str], "text": ([str], None)},
    "tags": {"columns": [int]},
    "masks": {},
}
"""Task -> how its data are read again, as the header of the answers says."""


def run(options: Namespace) -> None:
    journal = Journal.read(options.answers)
    header = journal.header
    task, source = header["task"], header["data"] if options.data is None else options.data
    if task not in HOW or not fits(header.get("how"), HOW[task]):
        raise ParseError("does not say how its data are read", options.answers, 1)
    if content_of(source) != header["content"]:
        mend = "are not those that the answers are about" if Path(source).exists() else "are not there any more"
        raise DataError(f"The data {source} {mend}: put them back, or say by --data where they lie.")
    told = {row: answers.cells for row, answers in journal.snapshot().items()}
    if not any(told.values()):
        raise DataError(f"{options.answers} holds no answer: there is nothing to write.")
    _check_out(options, task, source)
    {"labels": _label_sets, "tags": _tags, "masks": _masks}[task](options.out, source, journal, told)
    counts = {"rows": header["rows"], "finished": journal.n_done, "cells told": journal.n_told}
    say(f"{counted(counts)}; written to {options.out}")


def _check_out(options: Namespace, task: str, source: str) -> None:
    wanted = ".conll" if task == "tags" else ".jsonl" if ending(source) == ".jsonl" else ".csv"
    if any(Path(one).resolve().is_relative_to(options.out.resolve()) for one in (source, options.answers)):
        raise ConfigError(f"--out {options.out} is the data, or the answers, or a folder that they are in: name another.")
    if task == "masks":
        if options.out.exists() and not options.overwrite:
            raise ConfigError(
                f"{options.out} is there already: name another folder, or add --overwrite to put this in its place."
            )
        return
    if options.out.suffix != wanted:
        raise ConfigError(f"--out {options.out}: what is written of these data is {wanted}: name it FILE{wanted}.")
    check_free([options.out], options.overwrite)


def _label_sets(out: Path, source: str, journal: Journal, told: dict[int, Any]) -> None:
    how, names = journal.header["how"], journal.header["names"]

    @cache
    def read() -> Dataset:
        return load(source, labels=() if how["labels"] == [] else how["labels"], drop=how["drop"], text=how["text"])

    given = None
    if how["given"]:
        place, table = {name: k for k, name in enumerate(read().label_names)}, read().told()
        given = filled(names, len(table), None, {})
        for k, name in enumerate(names):
            if name in place:
                given[:, k] = table[:, place[name]]
    written = Written(source, read, tuple(how["columns"]))
    written.write(out, names, filled(names, journal.header["rows"], given, told))


def _tags(out: Path, source: str, journal: Journal, told: dict[int, Any]) -> None:
    columns = journal.header["how"]["columns"]
    write_sentences(out, read_tagged(source, columns, labelled=False).sentences, told)


def _masks(out: Path, source: str, journal: Journal, told: dict[int, Any]) -> None:
    write_pictures(out, read_pictures(source, labelled=False), told)
