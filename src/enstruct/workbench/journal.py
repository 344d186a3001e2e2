"""The file of answers: a line an act, only ever added to, and on the disk before anybody is told that it is kept.

    {"answers": 1, "task": "labels", "data": "songs.csv", ...}                                           the first line
    {"act": "k3", "by": "tab", "at": "2026-11-27T09:00:00Z", "row": 4, "cells": {"calm": true}, "done": false}
    {"act": "k4", "by": "tab", "at": "2026-11-27T09:00:02Z", "undo": "k3"}

An act tells cells of a row (a value, or null for one that is told no more) and whether the row is finished. Undone, its cells are
what they were before it. Whoever sends an act names it (``act``), so that one that is sent twice is kept once. A last line
without its line break was cut short by the end of a process; nobody was told that it is kept, and it goes when the file is opened
again.
"""

from __future__ import annotations

import json
import os
import threading
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, Self

from enstruct.errors import DataError, EnstructError, ParseError, SaveError, shown
from enstruct.records import Shape, fits, parsed

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

HEADER: Shape = {"answers": int, "task": str, "data": str, "rows": int, "names": [str], "content": str}
ACT: Shape = {"act": str, "by": str, "at": str, "row": int, "cells": {str: object}, "done": bool}
UNDO: Shape = {"act": str, "by": str, "at": str, "undo": str}
VERSION = 1
UNDONE = 200
"""Acts of one tab that can be undone, the latest."""
LONGEST_NAME = 64
"""Characters of the name of an act, and of who sends it."""


class ConflictError(EnstructError):
    """Somebody else has answered the same cell since it was looked at."""


class Last(NamedTuple):
    """The act that stands for a cell, the row's version when the cell last changed, and who changed it then."""

    act: str
    version: int
    by: str


@dataclass
class RowAnswers:
    """``cells``: what is told; ``done``: whether the row is finished; ``version``: how many acts it has seen."""

    cells: dict[str, Any] = field(default_factory=dict)
    done: bool = False
    version: int = 0
    last: dict[str, Last] = field(default_factory=dict)
    """By cell, and by "" for ``done``."""


@dataclass(frozen=True)
class _Kept:
    """What an act replaced: ``before`` of its cells those that were told, with "" for ``done`` where it changed that."""

    row: int
    by: str
    before: Mapping[str, Any]
    lasts: Mapping[str, Last | None]


class Journal:
    """One file of answers, this process's alone while it is open; ``header`` is its first line, as the task describes the data.

    DataError for a file of other data, ParseError for a damaged one, SaveError where it cannot be written, or is open elsewhere.
    """

    def __init__(self, path: Path, header: Mapping[str, Any]) -> None:
        self.path, self.header = path, {"answers": VERSION, **header}
        self.rows: dict[int, RowAnswers] = {}
        self._named: set[str] = set()  # acts, those that take one back among them
        self._undoable: dict[str, _Kept] = {}
        self._of: dict[str, deque[str]] = {}  # by whom -> acts that can be undone, the last at the end
        self._lock = threading.RLock()
        self._file = self._opened()

    @classmethod
    def read(cls, path: Path) -> Self:
        """What a file holds, without claiming it: nothing can be told. ParseError, DatasetNotFoundError."""
        self = cls.__new__(cls)
        self.path, self.rows, self._file = path, {}, -1
        self._named, self._undoable, self._of = set(), {}, {}
        self._lock = threading.RLock()
        try:
            content = path.read_bytes()
        except OSError as error:
            raise DataError(f"{path} cannot be read: {error}.") from error
        self.header = {}
        self._follow(content)
        return self

    # -- telling ----------------------------------------------------------------------------------

    def tell(self, act: str, by: str, row: int, cells: Mapping[str, Any], done: bool, seen: int | None = None) -> RowAnswers:
        """Keep an act; the row as it is then. ``seen``: the version that whoever tells it has looked at, None for any.

        ConflictError where somebody else has told one of these cells since, or, for a row to be finished, any.
        """
        with self._lock:
            answers = self.rows.setdefault(row, RowAnswers())
            if act in self._named:  # sent again, as its answer got lost
                return answers
            if seen is not None:
                asked = [*answers.last] if done else [*cells]
                for name in asked:
                    last = answers.last.get(name)
                    if last is not None and last.version > seen and last.by != by:
                        what = "this row" if name == "" else shown(name)
                        raise ConflictError(f"Somebody has answered {what} since you looked at it: look again.")
            self._write({"act": act, "by": by, "at": _now(), "row": row, "cells": dict(cells), "done": done})
            self._keep(act, by, row, cells, done)
            return answers

    def undo(self, act: str, by: str) -> int | None:
        """Take back the last act of ``by`` that was not; the row that it was of, None where there is none.

        ConflictError where another act has told its cells since.
        """
        with self._lock:
            mine = self._of.get(by)
            if act in self._named or not mine:
                return None
            kept = self._undoable[mine[-1]]
            last = self.rows[kept.row].last
            if any(last[name].act != mine[-1] for name in kept.before):
                raise ConflictError("What you would undo has been answered by somebody else since: nothing was changed.")
            self._write({"act": act, "by": by, "at": _now(), "undo": mine[-1]})
            self._take_back(act, mine[-1])
            return kept.row

    def after_undo(self, by: str) -> tuple[int, dict[str, Any]] | None:
        """The row that :meth:`undo` would change, and its cells then; None where there is nothing to undo."""
        with self._lock:
            mine = self._of.get(by)
            if not mine:
                return None
            kept = self._undoable[mine[-1]]
            cells = dict(self.rows[kept.row].cells)
            for name, value in kept.before.items():
                if name:
                    _put(cells, name, value)
            return kept.row, cells

    def row(self, number: int) -> RowAnswers:
        """As it is now, in a copy."""
        with self._lock:
            answers = self.rows.get(number, RowAnswers())
            return RowAnswers(dict(answers.cells), answers.done, answers.version, dict(answers.last))

    def snapshot(self) -> dict[int, RowAnswers]:
        """Of all rows that have seen an act, in a copy."""
        with self._lock:
            return {number: self.row(number) for number in self.rows}

    @property
    def n_done(self) -> int:
        with self._lock:
            return sum(answers.done for answers in self.rows.values())

    @property
    def n_told(self) -> int:
        with self._lock:
            return sum(len(answers.cells) for answers in self.rows.values())

    def __len__(self) -> int:
        """Acts, those that take one back among them."""
        return len(self._named)

    def knows(self, act: str) -> bool:
        """Whether an act of that name is kept."""
        return act in self._named

    def close(self) -> None:
        """The claim ends."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    # -- the file ---------------------------------------------------------------------------------

    def _opened(self) -> int:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        except OSError as error:
            raise SaveError(f"{self.path} cannot be written: {error}. Name another place.") from error
        try:
            if fcntl is not None:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except OSError as error:
                    raise SaveError(f"{self.path} is open in another workbench: use its page, or stop it first.") from error
            content = self.path.read_bytes()
            whole = content[: content.rfind(b"\n") + 1]
            if whole:
                expected = dict(self.header)
                self._follow(whole)
                self._check_same(expected)
            elif not _line(self.header).startswith(content):
                raise ParseError("is no file of answers: name another, or move it away", self.path, 1)
            os.ftruncate(file, len(whole))  # of a file that is known to be ours
            self._file = file
            if not whole:
                self._write(self.header)
                _sync_folder(self.path.parent)
        except BaseException:
            os.close(file)
            raise
        return file

    def _check_same(self, expected: Mapping[str, Any]) -> None:
        for name, what in (("task", "kind of output"), ("rows", "number of rows"), ("names", "labels"), ("content", "content")):
            if self.header[name] != expected[name]:
                was, now = shown(self.header[name], 40), shown(expected[name], 40)
                raise DataError(
                    f"{self.path} holds answers about other data: its {what} was {was}, and is {now}. Name another file."
                )

    def _write(self, record: Mapping[str, Any]) -> None:
        """A line, whole and on the disk, or not at all: SaveError."""
        line = _line(record)
        size = os.fstat(self._file).st_size
        try:
            written = os.write(self._file, line)
            if written < len(line):
                raise OSError("the disk is full")
            os.fsync(self._file)
        except OSError as error:
            os.ftruncate(self._file, size)
            raise SaveError(
                f"The answer could not be written to {self.path}: {error}. It is not kept; free some space."
            ) from error

    def _follow(self, content: bytes) -> None:
        """Take in lines as they stand in a file. ParseError (file, line)."""
        for number, record in _records(content, self.path):
            if number == 1:
                if not fits(record, HEADER) or record["answers"] != VERSION:
                    raise ParseError("is no file of answers of this version: name another, or move it away", self.path, 1)
                self.header = record
            elif fits(record, ACT) and record["act"] not in self._named and 0 <= record["row"] < self.header["rows"]:
                self._keep(record["act"], record["by"], record["row"], record["cells"], record["done"])
            elif fits(record, UNDO) and record["undo"] in self._undoable:
                self._take_back(record["act"], record["undo"])
            else:
                raise ParseError("the line is no act, or one of an act that is not there: put a copy back", self.path, number)
        if not self.header:
            raise ParseError("is no file of answers: it is empty", self.path, 1)

    # -- what acts do -----------------------------------------------------------------------------

    def _keep(self, act: str, by: str, row: int, cells: Mapping[str, Any], done: bool) -> None:
        answers = self.rows.setdefault(row, RowAnswers())
        before = {name: answers.cells.get(name) for name in cells} | ({} if done == answers.done else {"": answers.done})
        lasts = {name: answers.last.get(name) for name in before}
        answers.version += 1
        for name, value in cells.items():
            _put(answers.cells, name, value)
        answers.done = done
        answers.last |= dict.fromkeys(before, Last(act, answers.version, by))
        self._named.add(act)
        self._undoable[act] = _Kept(row, by, before, lasts)
        mine = self._of.setdefault(by, deque())
        mine.append(act)
        if len(mine) > UNDONE:
            del self._undoable[mine.popleft()]

    def _take_back(self, act: str, undone: str) -> None:
        kept = self._undoable.pop(undone)
        answers = self.rows[kept.row]
        answers.version += 1
        for name, value in kept.before.items():
            if name == "":
                answers.done = bool(value)
            else:
                _put(answers.cells, name, value)
            earlier = kept.lasts[name]
            answers.last[name] = Last("" if earlier is None else earlier.act, answers.version, kept.by)
        self._named.add(act)
        self._of[kept.by].remove(undone)


def check_name(what: str, name: object) -> str:
    """DataError for the name of an act, or of who sends it, that is none."""
    if not isinstance(name, str) or not 0 < len(name) <= LONGEST_NAME or not name.isascii() or not name.isprintable():
        raise DataError(f"{what} must be 1 to {LONGEST_NAME} plain characters, not {shown(name)}.")
    return name


def _put(cells: dict[str, Any], name: str, value: Any) -> None:
    if value is None:
        cells.pop(name, None)
    else:
        cells[name] = value


def _records(content: bytes, path: Path) -> Iterator[tuple[int, Any]]:
    lines = content[: content.rfind(b"\n") + 1].split(b"\n")[:-1]
    for number, line in enumerate(lines, 1):
        try:
            yield number, parsed(line.decode("utf-8"), object)
        except ValueError as error:
            raise ParseError(f"the line is no JSON ({error}): put a copy of the file back", path, number) from error


def _line(record: Mapping[str, Any]) -> bytes:
    return (json.dumps(record, ensure_ascii=False) + "\n").encode("utf-8", errors="backslashreplace")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _sync_folder(folder: Path) -> None:
    """A new file's name is on the disk too, where the system lets folders be synced."""
    try:
        opened = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    with suppress(OSError):
        os.fsync(opened)
    os.close(opened)
