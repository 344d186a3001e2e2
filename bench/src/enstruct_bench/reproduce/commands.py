"""Runs the parts of a table that are commands: what they need first, then the part, with its files in the results folder.

compare, light, data describe                             RESULTS/PART.json
tune                                                      RESULTS/PART.json, once all trials have ended
figure, pictures of a model                               the folder RESULTS/PART
what parts need (``CommandTable.made``), journals         RESULTS/made/, not for the repository
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from enstruct.data.catalogue import data_root
from enstruct.environment import environment
from enstruct.errors import ConfigError, DataError, DatasetNotFoundError
from enstruct.records import read_record
from enstruct_bench.comparison.command import Command
from enstruct_bench.comparison.whereabouts import whereabouts
from enstruct_bench.reproduce.library import Measured, Train
from enstruct_bench.reproduce.table import CommandTable
from enstruct_bench.reproduce.tables import RESOURCES
from enstruct_bench.tuning.tune import Tune

Work = Callable[[Command], int]
"""Runs a command -> its exit status; what is wrong it has said. KeyboardInterrupt passes through it."""
JOURNAL = ".journal"
"""Of trials, which a command that was interrupted goes on with."""


def run_parts(
    table: CommandTable,
    parts: list[str],
    results: Path,
    work: Work,
    say: Callable[[str], None],
    changed: Mapping[str, Any] | None = None,
) -> None:
    """All parts that can be run, or those named. DataError at the end for those that could not; finished parts stay.

    changed : options in the place of the table's own, ``seeds`` and ``methods``. ConfigError for commands that have none such.
    """
    if not table.parts:
        raise DataError(f"{table.name} cannot run here: " + "; ".join(f"{name}: {why}" for name, why in table.absent.items()))
    wanted = parts or list(table.parts)
    for part in wanted:
        if part not in table.parts:
            raise DataError(f"{table.name} has the parts {', '.join(table.parts)}, not {part}.")
    commands = {part: with_options(part, table.parts[part], changed or {}) for part in wanted}
    failed: list[str] = []
    for part in wanted:
        try:
            if needed := [word for word in commands[part].words() if word in failed]:
                raise DataError(f"{part} needs {needed[0]}, which failed.")
            _Parts(table, results, work, say).run(part, commands[part])
        except DataError as error:
            if len(wanted) == 1:
                raise
            say(f"{table.name}: {error}")
            failed.append(part)
    if failed:
        raise DataError(f"{table.name}: not made: {', '.join(failed)} (why, see above); what is finished is kept.")


def finished(results: Path, part: str) -> bool:
    """Whether a part has its figures; where a command goes on, some of them."""
    return (results / f"{part}.json").is_file() or (results / part).is_dir()


def made_elsewhere(results: Path, part: str) -> bool:
    """Whether a part's figures say that they are of another version or machine; pictures alone say nothing."""
    files = [results / f"{part}.json", *sorted((results / part).glob("*.json"))]
    for path in files:
        try:
            content = read_record(path, {"environment?": dict, "setting?": {"environment?": dict}}, "no file of figures")
        except DataError:
            continue  # damaged files are named by what reads them
        if where := content.get("environment") or content.get("setting", {}).get("environment"):
            return whereabouts(where) != whereabouts(environment())
    return False


def with_options(part: str, command: Command, changed: Mapping[str, Any]) -> Command:
    """A command with other values of some options."""
    known = {each.name for each in fields(command)}
    if foreign := [f"--{name}" for name in changed if name not in known]:
        raise ConfigError(
            f"{', '.join(foreign)} is not for {part}: `{command.spelled()}` has none such; name parts that have it in --datasets."
        )
    return replace(command, **changed)


class _Parts:
    """The parts of a table as they are made in a folder of results."""

    def __init__(self, table: CommandTable, results: Path, work: Work, say: Callable[[str], None]) -> None:
        self.table, self.results, self.work, self.say = table, results, work, say
        self.made = results / "made"

    def run(self, part: str, command: Command) -> None:
        if finished(self.results, part) and not command.goes_on:
            place = ", on another machine or version" if made_elsewhere(self.results, part) else ""
            journal = [f" and made/{word}" for word in command.words() if word.endswith(JOURNAL)]
            self.say(f"{part} is finished{place}; delete it{''.join(journal)} in {self.results} to make it again")
            return
        if isinstance(command, Measured):
            raise DataError(f"{part} is made by `{command.spelled()}`, on an idle machine.")
        command = command.located(self._place)
        if command.makes_folder:  # several files: under another name until all are there
            unfinished = self.results / f".{part}.part"
            shutil.rmtree(unfinished, ignore_errors=True)  # of a command that was interrupted, and begins anew
            self._carry_out(part, _into(command, unfinished))
            unfinished.rename(self.results / part)
            self.say(f"{part} is whole: it lies in {self.results / part} now")
        elif isinstance(command, Tune):
            self._tune(part, command)
        else:
            self._carry_out(part, _into(command, self.results / f"{part}.json"))

    def _tune(self, part: str, command: Tune) -> None:
        """The command writes its file after every method: it stays a file of this process until all trials of all have ended."""
        unfinished = self.made / f"{part}.{os.getpid()}.json"
        try:
            self._carry_out(part, _into(command, unfinished))
            if not _has_all_trials(unfinished, command):
                raise DataError(f"{part}: other processes are at work on its last trials; run it again when they have ended.")
            unfinished.replace(self.results / f"{part}.json")
        finally:
            unfinished.unlink(missing_ok=True)

    def _carry_out(self, part: str, command: Command) -> None:
        self.say(command.spelled())
        if self.work(command):
            raise DataError(
                f"the command of {part} failed (why, see above); what it finished is kept. Where it refuses a file of another "
                "machine or version, --results OTHER/reproduce begins with files of your own."
            )

    def _place(self, word: str) -> str:
        """Where what a word names lies: a file of RESOURCES, another part's figures, or something made here, now if need be;
        other words as they are."""
        if word in RESOURCES:
            path = (data_root() or Path()) / RESOURCES[word]
            if not path.is_file():
                raise DatasetNotFoundError(f"This table needs {RESOURCES[word]} below the folder ENSTRUCT_DATA points at.")
            return str(path)
        if word in self.table.parts:
            if not finished(self.results, word):
                self.run(word, self.table.parts[word])
            return str(self.results / f"{word}.json")
        path = self.made / word
        if word.endswith(JOURNAL):
            return str(path)
        if word not in self.table.made:
            return word
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            command = self.table.made[word].located(lambda other: str(path) if other == word else self._place(other))
            if isinstance(command, Train):
                command = replace(command, resume=path.with_name(f"{word}.checkpoint").exists())  # training that was interrupted
            self._carry_out(word, command)
        return str(path)


def _into(command: Command, place: Path) -> Command:
    """The command with the place of its figures."""
    return replace(command, **{command.output: place})


def _has_all_trials(path: Path, command: Tune) -> bool:
    shape = {"best": [{"method": str, "trials": {str: int}}]}
    best = read_record(path, shape, "no file of `enstruct-bench tune --json`")["best"] if path.is_file() else []
    ended = {each["method"]: sum(each["trials"].values()) for each in best}
    return ended == dict.fromkeys(command.methods, command.trials)
