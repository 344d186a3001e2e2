"""The file that the cells of a comparison are kept in, each as soon as it is finished."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from enstruct.errors import DataError
from enstruct.files import load_arrays, replace_file, write_json
from enstruct.metrics import Counts
from enstruct.records import Shape, read_record
from enstruct_bench.comparison.locks import locked
from enstruct_bench.comparison.provenance import FORMER_PROCESSOR, present_commit
from enstruct_bench.comparison.tested import tested_in


@dataclass
class Cell:
    """``record``: settings, figures, times. ``rows``: rule -> what the metric counts of each test row, in one part."""

    record: dict[str, Any]
    rows: dict[str, Counts]


def as_array(counts: Counts) -> NDArray[np.float32]:
    """(rows,), the scores of rows where each counts one below, else (rows, 2), as files keep them."""
    above, below = (np.asarray(side, dtype=np.float32) for side in counts)
    return above[:, 0] if (below == 1).all() else np.concatenate([above, below], axis=1)


def as_counts(array: NDArray[Any]) -> Counts | None:
    """Of such an array; None for one that is no other."""
    if array.dtype.kind not in "fiu" or not array.size or not np.isfinite(array).all():
        return None
    if array.ndim == 1:
        return Counts.of(array)
    return Counts.of(array[:, 0], array[:, 1]) if array.ndim == 2 and array.shape[1] == 2 else None


@dataclass(frozen=True)
class Kind:
    """What the cells of one command's comparisons hold, so that a file is known to be whole before any of it is used.

    ``record``: the fields that tables read (:mod:`enstruct.records`). ``rules``: those that every cell has scores of.
    """

    record: Mapping[str, Shape] = field(default_factory=dict)
    rules: tuple[str, ...] = ()


ANY = Kind()
SETTING: Shape = {
    "model?": {"metric?": (str, None)},
    "environment?": dict,
    "rows?": {str: int},
    "content?": object,
    "split?": str,
}


def save_arrays(path: Path, arrays: dict[str, Any]) -> None:
    """``np.savez_compressed`` to exactly this path."""
    with open(path, "wb") as file:  # a name would get .npz appended
        np.savez_compressed(file, **arrays)


class ResultsFile:
    """``out.json`` (records) and ``out.rows.npz`` (the score of each test row): finished cells are never run again.

    Several processes may add to a file. A file written for other data, settings or library versions is refused, not mixed in. Of
    the model's parameters those count, and are kept, that differ from ``defaults``. ``setting["content"]`` tells data of one name
    apart
    (:func:`~enstruct_bench.comparison.fingerprint.fingerprint`).
    """

    def __init__(self, path: Path, setting: dict[str, Any], defaults: dict[str, Any], kind: Kind = ANY) -> None:
        self.kind, self.path, self.rows_path = kind, path, path.with_name(path.name.removesuffix(".json") + ".rows.npz")
        self.defaults = json.loads(json.dumps(defaults))
        self.setting = self._stripped(json.loads(json.dumps(setting)))
        self.cells: dict[tuple[str, int], Cell] = {}
        if path.exists():
            self._read()

    @classmethod
    def to_add_to(cls, path: Path, setting: dict[str, Any], defaults: dict[str, Any], kind: Kind = ANY) -> ResultsFile:
        """SaveError where nothing can be written, DataError for scores of other runs in its place, before anything is run."""
        file = cls(path, setting, defaults, kind)
        with file._locked():
            if file.rows_path.exists() and not path.exists():
                raise DataError(
                    f"{file.rows_path} is there without {path.name}, and would be replaced: move it, or put both back."
                )
            return file

    def _locked(self) -> AbstractContextManager[None]:
        return locked(self.path.with_name(f".{self.path.name}.lock"))

    def _read(self) -> None:
        shape = {"setting": SETTING, "runs": [{"method": str, "seed": int, **self.kind.record}]}
        content = read_record(
            self.path, shape, "not a results file of enstruct-bench compare"
        )  # before the arrays, which are replaced first
        try:
            arrays = load_arrays(self.rows_path)
        except (OSError, ValueError) as error:
            raise DataError(
                f"{self.rows_path}, the scores of {self.path.name}, cannot be read ({error}): put both back."
            ) from error
        kept_setting = self._as_now(content["setting"])
        records = {(record["method"], record["seed"]): record for record in content["runs"]}
        if kept_setting != self.setting:
            there, here = (self._with_defaults(setting) for setting in (kept_setting, self.setting))
            raise DataError(f"{self.path} holds runs with another {'; '.join(differences(there, here))}; write to another file.")
        for (method, seed), record in records.items():
            key = f"{method}/{seed}/"
            kept = {name.removeprefix(key): as_counts(scores) for name, scores in arrays.items() if name.startswith(key)}
            if not kept:
                raise DataError(f"{self.path} has a run without scores in {self.rows_path.name}: the files are not of one time.")
            rows = {rule: counts for rule, counts in kept.items() if counts is not None}
            self.cells.setdefault((method, seed), Cell(record, rows))
        self._check_scores()

    def _check_scores(self) -> None:
        """DataError for scores that cannot be held against each other."""
        lengths: dict[int, int] = {}
        for (method, seed), cell in self.cells.items():
            for rule in self.kind.rules:
                length = len(cell.rows[rule].above) if rule in cell.rows else 0
                known = lengths.setdefault(0 if tested_in(self.setting) == "same" else seed, length)
                if not length or length != known:
                    raise DataError(
                        f"{self.rows_path} has no scores for {method}, seed {seed}, {rule}, or not of {known} rows as others: "
                        "put a copy of it back, or move it and its .json away."
                    )

    def _as_now(self, setting: dict[str, Any]) -> dict[str, Any]:
        """With what earlier files do not say: the data are taken for these."""
        completed = self._stripped(setting)
        if "environment" in completed and "processor" in self.setting.get("environment", {}):
            completed["environment"] = {"processor": FORMER_PROCESSOR, **completed["environment"]}
        for name in {"content", "tables"} & self.setting.keys():
            completed.setdefault(name, self.setting[name])
        return completed

    def _stripped(self, setting: dict[str, Any]) -> dict[str, Any]:
        """Without parameters that are the defaults."""
        if "model" not in setting:
            return dict(setting)
        return {**setting, "model": {k: v for k, v in setting["model"].items() if v != self.defaults.get(k)}}

    def _with_defaults(self, setting: dict[str, Any]) -> dict[str, Any]:
        return {**setting, "model": {**self.defaults, **setting["model"]}} if "model" in setting else setting

    def run(self, method: str, seed: int, work: Callable[[], Cell]) -> Cell:
        """The stored cell, here or by another process, or ``work()``, stored at once with the commit it ran from."""
        if (method, seed) not in self.cells:
            self.refresh()
        if (method, seed) not in self.cells:
            commit = present_commit(Path(__file__).parents[1])
            self.cells[method, seed] = work()
            self.cells[method, seed].record["commit"] = commit
            self.write()
        return self.cells[method, seed]

    def refresh(self) -> None:
        """What others have added."""
        if self.path.exists():
            self._read()

    def write(self) -> None:
        """What is here and what others have added."""
        with self._locked():
            if self.path.exists():
                self._read()
            self._write()

    def _write(self) -> None:
        rows = {f"{m}/{s}/{n}": as_array(counts) for (m, s), c in self.cells.items() for n, counts in c.rows.items()}
        content = {"setting": self.setting, "runs": [c.record for c in self.cells.values()]}
        replace_file(self.rows_path, lambda part: save_arrays(part, rows))
        write_json(self.path, content)


def differences(there: dict[str, Any], here: dict[str, Any], prefix: str = "") -> list[str]:
    """Of settings: "environment.cores (2 there, 8 here)"."""
    listed: list[str] = []
    for key in sorted({*there, *here}):
        a, b = there.get(key), here.get(key)
        if isinstance(a, dict) and isinstance(b, dict):
            listed += differences(a, b, f"{prefix}{key}.")
        elif a != b:
            listed.append(f"{prefix}{key} ({a!r} there, {b!r} here)")
    return listed
