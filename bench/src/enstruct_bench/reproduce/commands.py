"""Runs the parts of a table that other commands make: what they need first, then the part, with its files in the results folder.

compare, light, data describe                             RESULTS/PART.json
tune                                                      RESULTS/PART.json, once all trials have ended
analyse, tags picture                                     the folder RESULTS/PART
what parts need (``CommandTable.made``), journals         RESULTS/made/, not for the repository
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from enstruct.data.catalogue import data_root
from enstruct.environment import environment
from enstruct.errors import ConfigError, DataError, DatasetNotFoundError
from enstruct.records import read_record
from enstruct_bench.reproduce.store import whereabouts
from enstruct_bench.reproduce.table import CommandTable, spelt
from enstruct_bench.reproduce.tables import RESOURCES

Enstruct = Callable[[list[str]], int]
"""A command line without its first word -> exit status; KeyboardInterrupt passes through it."""
JOURNAL = ".journal"
"""Of trials, which a command that was interrupted goes on with."""


def run_parts(
    table: CommandTable,
    parts: list[str],
    results: Path,
    enstruct: Enstruct,
    say: Callable[[str], None],
    given: Mapping[str, str] | None = None,
) -> None:
    """All parts that can be run, or those named. DataError at the end for those that could not; finished parts stay.

    given : options in the place of the table's own, "--seeds" and "--methods". ConfigError for commands that have none such.
    """
    if not table.parts:
        raise DataError(f"{table.name} cannot run here: " + "; ".join(f"{name}: {why}" for name, why in table.absent.items()))
    wanted = parts or list(table.parts)
    for part in wanted:
        if part not in table.parts:
            raise DataError(f"{table.name} has the parts {', '.join(table.parts)}, not {part}.")
    commands = {part: with_options(part, table.parts[part], given or {}) for part in wanted}
    failed: list[str] = []
    for part in wanted:
        try:
            if needed := [word for word in commands[part] if word in failed]:
                raise DataError(f"{part} needs {needed[0]}, which failed.")
            _run_part(table, part, commands[part], results, enstruct, say)
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


def goes_on(words: tuple[str, ...]) -> bool:
    """Whether a command adds to its file what is missing there."""
    return words[0] in ("compare", "light")


def with_options(part: str, words: tuple[str, ...], given: Mapping[str, str]) -> tuple[str, ...]:
    """A command with other values of some options."""
    foreign = [option for option in given if option not in words and words[0] != "compare"]
    if foreign:
        raise ConfigError(
            f"{', '.join(foreign)} is not for {part}: `{' '.join(words)}` has none such; name parts that have it in --datasets."
        )
    for option, value in given.items():
        at = words.index(option) if option in words else len(words)
        words = (*words[:at], option, value, *words[at + 2 :])
    return words


def _run_part(
    table: CommandTable, part: str, words: tuple[str, ...], results: Path, enstruct: Enstruct, say: Callable[[str], None]
) -> None:
    if finished(results, part) and not goes_on(words):
        place = ", on another machine or version" if made_elsewhere(results, part) else ""
        journal = [f" and made/{word}" for word in words if word.endswith(JOURNAL)]
        say(f"{part} is finished{place}; delete it{''.join(journal)} in {results} to make it again")
        return
    if words[0] == "benchmark":
        raise DataError(f"{part} is made by `enstruct-bench costs --measure`, on an idle machine.")
    command = [_found(table, word, results, enstruct, say) for word in words]
    if words[0] == "figure" or words[-1] == "--pictures":  # several files: under another name until all are there
        unfinished = results / f".{part}.part"
        shutil.rmtree(unfinished, ignore_errors=True)  # of a command that was interrupted, and begins anew
        into = [] if words[-1] == "--pictures" else ["--out"]
        _run(part, [*command, *into, str(unfinished)], enstruct, say)
        unfinished.rename(results / part)
        say(f"{part} is whole: it lies in {results / part} now")
    elif words[0] == "tune":
        _tune(part, command, results, enstruct, say)
    else:
        _run(part, [*command, "--json", str(results / f"{part}.json")], enstruct, say)


def _tune(part: str, command: list[str], results: Path, enstruct: Enstruct, say: Callable[[str], None]) -> None:
    """The command writes its file after every method: it stays a file of this process until all trials of all have ended."""
    unfinished = results / "made" / f"{part}.{os.getpid()}.json"
    try:
        _run(part, [*command, "--json", str(unfinished)], enstruct, say)
        if not _has_all_trials(unfinished, command):
            raise DataError(f"{part}: other processes are at work on its last trials; run it again when they have ended.")
        unfinished.replace(results / f"{part}.json")
    finally:
        unfinished.unlink(missing_ok=True)


def _has_all_trials(path: Path, command: list[str]) -> bool:
    methods, trials = (command[command.index(option) + 1] for option in ("--methods", "--trials"))
    best = (
        read_record(path, {"best": [{"method": str, "trials": {str: int}}]}, "no file of `enstruct-bench tune --json`")["best"]
        if path.is_file()
        else []
    )
    return {found["method"]: sum(found["trials"].values()) for found in best} == dict.fromkeys(methods.split(","), int(trials))


def _run(part: str, command: list[str], enstruct: Enstruct, say: Callable[[str], None]) -> None:
    say(spelt(command))
    status = enstruct(command)
    if status:
        raise DataError(
            f"the command of {part} failed (why, see above); what it finished is kept. Where it refuses a file of another "
            "machine or version, --results OTHER/reproduce begins with files of your own."
        )


def _found(table: CommandTable, word: str, results: Path, enstruct: Enstruct, say: Callable[[str], None]) -> str:
    """Where what a word names lies: a file of RESOURCES, another part's figures, or something made here, now if need be; other
    words as they are."""
    if word in RESOURCES:
        path = (data_root() or Path()) / RESOURCES[word]
        if not path.is_file():
            raise DatasetNotFoundError(f"This table needs {RESOURCES[word]} below the folder ENSTRUCT_DATA points at.")
        return str(path)
    if word in table.parts:
        if not finished(results, word):
            _run_part(table, word, table.parts[word], results, enstruct, say)
        return str(results / f"{word}.json")
    path = results / "made" / word
    if word.endswith(JOURNAL):
        return str(path)
    if word not in table.made:
        return word
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        resume = ["--resume"] if path.with_name(f"{word}.checkpoint").exists() else []  # training that was interrupted
        command = [str(path) if w == word else _found(table, w, results, enstruct, say) for w in table.made[word]]
        _run(word, [*command, *resume], enstruct, say)
    return str(path)
