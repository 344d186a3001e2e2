"""Finished runs of a table: ``TABLE.jsonl``, one JSON line a run, and ``TABLE.rows.npz``, the score of each of its test rows.

A run is told apart by its table, data set, protocol (which says the split), row, seed, the row's own settings, and where it was
made: the version of the library, which says what the defaults are, of what it stands on, and the machine. A line holds these,
commit, updates, epochs, seconds and, under "metrics", every metric under every decision rule (lines from before 2026-11-22 have
no metrics, but example-F1 under every rule and the others under the chosen one). Lines of other versions or machines stay in the
file and are never averaged with those of this one: a change of the library that moves figures raises its version. A run whose
training diverged has a line that says so under "diverged", and no scores; it is not repeated while its settings are what they
were. Several processes may add to a table. A line cut short by an interruption is dropped, with a warning, and its run made
again.
"""

from __future__ import annotations

import json
import logging
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from numpy.typing import NDArray

from enstruct.environment import environment
from enstruct.errors import DataError
from enstruct.files import load_arrays, replace_file, write_text
from enstruct.metrics import Counts
from enstruct.records import Shape, parsed
from enstruct_bench.comparison.locks import locked
from enstruct_bench.comparison.results_file import Cell, as_array, as_counts, save_arrays
from enstruct_bench.comparison.whereabouts import SAME, Where, whereabouts
from enstruct_bench.reproduce.table import PROTOCOLS, Protocol

log = logging.getLogger("enstruct")
ATTEMPTS = 5
SCORES: Shape = {str: float}
LINE: Shape = {
    "dataset": str,
    "protocol": frozenset(PROTOCOLS),
    "method": str,
    "seed": int,
    "settings": dict,
    "environment": {"processor?": str},
    "of?": {str: object},
    "commit?": (str, None),
    "diverged?": str,
    "decision?": str,
    "example_f1?": SCORES,
    "hamming?": SCORES,
    "candidate_f1?": SCORES,
    "members?": [str],
    "answer?": str,
    "fit_seconds?": float,
    "seconds?": float,
    "test_rows?": int,
    "validation_score?": (float, None),
}
"""Of a line (:mod:`enstruct.records`): what everything that reads it goes by."""


class _TornError(Exception):
    """The line of this number has no scores."""


class Key(NamedTuple):
    dataset: str
    protocol: Protocol
    method: str
    seed: int

    def __str__(self) -> str:
        return f"{self.dataset} {self.protocol} {self.method} seed {self.seed}"


@dataclass
class Run:
    line: dict[str, Any]
    rows: dict[str, Counts]

    @property
    def key(self) -> Key:
        return Key(*(self.line[name] for name in Key._fields))

    @property
    def where(self) -> Where:
        return whereabouts(self.line["environment"])


def stores_of(folder: Path, table: str) -> list[Store]:
    """One for each version and machine that runs of the table come from, that of most runs first; none without runs."""
    every = Store(folder, table, where=("every",))
    runs = Counter(run.where for run in (*every.elsewhere, *every.without_scores))
    return [Store(folder, table, where) for where, _ in runs.most_common()]


class Store:
    """``runs`` of this version and machine (or of ``where``), ``elsewhere`` those of others; ``diverged`` has no scores."""

    def __init__(self, folder: Path, table: str, where: Where | None = None) -> None:
        self.path, self.rows_path = folder / f"{table}.jsonl", folder / f"{table}.rows.npz"
        self.table = table
        self.where = where or whereabouts(environment())
        self._said: set[int] = set()  # lines cut short; not once for every time that the file is read
        self.refresh()

    def refresh(self) -> None:
        """Read the files again: another process may have finished runs. DataError for damaged ones."""
        for attempt in range(ATTEMPTS):  # a writer may have been between the two files
            self.runs: dict[Key, Run] = {}
            self.elsewhere: list[Run] = []
            self.without_scores: list[Run] = []
            try:
                if self.path.exists():
                    self._read()
                return
            except _TornError as error:
                if attempt + 1 == ATTEMPTS:
                    raise DataError(
                        f"{self.path}, line {error} has no scores in {self.rows_path.name}: the files are not of one time. Take "
                        "that line out, and its run is made again."
                    ) from error
                time.sleep(0.1)

    def _arrays(self) -> dict[str, NDArray[Any]]:
        if not self.rows_path.exists():
            raise DataError(f"{self.path.name} is there without {self.rows_path.name}, the scores of its test rows: put it back.")
        try:
            return load_arrays(self.rows_path)
        except (OSError, ValueError) as error:
            raise DataError(
                f"{self.rows_path} is damaged ({error}): put a copy of it back (git checkout, where git has it). Without "
                f"one move it and {self.path.name} away; their runs are made again."
            ) from error

    def _read(self) -> None:
        try:
            text = self.path.read_text(encoding="utf-8", errors="replace")  # before the arrays, which a writer replaces first
        except OSError as error:
            raise DataError(f"{self.path} cannot be read ({error}).") from error
        lines = text.rstrip().splitlines()
        arrays = self._arrays()
        for number, written in enumerate(lines, 1):
            try:
                line = parsed(written, LINE)
            except ValueError as error:
                if number == len(lines) and isinstance(error, json.JSONDecodeError):
                    if number not in self._said:
                        log.warning("%s, line %d was cut short: that run is made again", self.path, number)
                    self._said.add(number)
                    continue
                raise DataError(
                    f"{self.path}, line {number} is no run of enstruct-bench run ({error}): put a copy of the file back, or "
                    "take that line out, and its run is made again."
                ) from error
            prefix = _prefix(line)
            scores = {name.removeprefix(prefix): as_counts(array) for name, array in arrays.items() if name.startswith(prefix)}
            rows = {rule: counts for rule, counts in scores.items() if counts is not None}
            if "diverged" in line:
                self.without_scores.append(Run(line, {}))
                continue
            if not rows:
                raise _TornError(number)
            self._keep(Run(line, rows))

    def _keep(self, run: Run) -> None:
        if run.where == self.where:
            self.runs[run.key] = run
        else:
            self.elsewhere.append(run)

    @property
    def diverged(self) -> dict[Key, Run]:
        """Of ``where``."""
        return {run.key: run for run in self.without_scores if run.where == self.where}

    def add_diverged(
        self, key: Key, record: dict[str, Any], settings: dict[str, Any], env: dict[str, Any], commit: str | None
    ) -> None:
        """A run that ended without figures, in the place of an earlier one."""
        run = self.line(key, Cell(record, {}), settings, env, commit)
        with locked(self.path.with_suffix(".lock")):
            self.refresh()
            self._make_room([run])
            self.without_scores.append(run)
            self._write()

    def add(
        self,
        key: Key,
        cell: Cell,
        settings: dict[str, Any],
        env: dict[str, Any],
        commit: str | None,
        replacing: bool = False,
    ) -> None:
        """One more finished run, on disk before this returns."""
        self.add_all([self.line(key, cell, settings, env, commit)], replacing)

    def line(self, key: Key, cell: Cell, settings: dict[str, Any], env: dict[str, Any], commit: str | None) -> Run:
        """A finished cell as a run of this table."""
        line = {"table": self.table, "settings": settings, "environment": env, "commit": commit, **cell.record, **key._asdict()}
        return Run(line, dict(cell.rows))

    def add_all(self, runs: Iterable[Run], replacing: bool = False) -> int:
        """Add what is not there yet to what the files hold by now; returns how many were new.

        ``replacing``: a run that is there, as with other settings, goes when the new one is in its place.
        """
        with locked(self.path.with_suffix(".lock")):
            self.refresh()
            known = {(run.key, run.where) for run in (*self.runs.values(), *self.elsewhere)}
            new = [run for run in runs if replacing or (run.key, run.where) not in known]
            self._make_room(new)
            for run in new:
                self._keep(run)
            self._write()
        return len(new)

    def _make_room(self, new: Iterable[Run]) -> None:
        """Take out what stands in the place of these, lines first: none may stand beside the scores of another run."""
        places = {(run.key, run.where) for run in new}
        scored = len(self.runs) + len(self.elsewhere)
        self.runs = {key: run for key, run in self.runs.items() if (key, run.where) not in places}
        self.elsewhere, self.without_scores = (
            [run for run in runs if (run.key, run.where) not in places] for runs in (self.elsewhere, self.without_scores)
        )
        if len(self.runs) + len(self.elsewhere) < scored:
            self._write_lines()

    def _write(self) -> None:
        """Scores first: a line without them would be a finished run that nobody can compare."""
        self._write_scores()
        self._write_lines()

    def _write_scores(self) -> None:
        every = (*self.runs.values(), *self.elsewhere)
        arrays = {_prefix(run.line) + name: as_array(counts) for run in every for name, counts in run.rows.items()}
        replace_file(self.rows_path, lambda part: save_arrays(part, arrays))

    def _write_lines(self) -> None:
        every = (*self.runs.values(), *self.elsewhere, *self.without_scores)
        ordered = sorted(every, key=lambda run: run.where)  # the same, wherever it is written
        text = "".join(json.dumps(run.line) + "\n" for run in ordered)
        write_text(self.path, text)


def _prefix(line: dict[str, Any]) -> str:
    """Of the names of a run's scores. What is not always there comes first: no prefix is the beginning of another."""
    where = whereabouts(line["environment"])
    return "/".join([*where[len(SAME) :], *(str(line[name]) for name in Key._fields), *where[: len(SAME)], ""])
