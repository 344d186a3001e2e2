"""The file that the cells of a comparison are kept in, each as soon as it is finished."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from enstruct.comparison.environment import FORMER_PROCESSOR, present_commit
from enstruct.errors import DataError
from enstruct.files import load_arrays, replace_file, write_json
from enstruct.workplaces import locked


@dataclass
class Cell:
    """``record``: settings, figures, times. ``rows``: rule -> (test rows,) score of each row.

    The score is the model's ``metric`` where that is a mean over rows (:data:`~enstruct.metrics.ROWWISE`), else example-F1.
    """

    record: dict[str, Any]
    rows: dict[str, NDArray[np.float64]]


def save_arrays(path: Path, arrays: dict[str, Any]) -> None:
    """``np.savez_compressed`` to exactly this path."""
    with open(path, "wb") as file:  # a name would get .npz appended
        np.savez_compressed(file, **arrays)


class ResultsFile:
    """``out.json`` (records) and ``out.rows.npz`` (the score of each test row): finished cells are never run again.

    Several processes may add to a file. A file written for other data, settings or library versions is refused, not mixed in;
    ``defaults`` are the model's parameters for those younger than the file. ``setting["content"]`` tells data of one name apart
    (:func:`~enstruct.data.fingerprint.fingerprint`).
    """

    def __init__(self, path: Path, setting: dict[str, Any], defaults: dict[str, Any]) -> None:
        self.path, self.rows_path = path, path.with_name(path.name.removesuffix(".json") + ".rows.npz")
        self.defaults = json.loads(json.dumps(defaults))
        self.setting = json.loads(json.dumps(setting))
        self.cells: dict[tuple[str, int], Cell] = {}
        if path.exists():
            self._read()

    @classmethod
    def to_add_to(cls, path: Path, setting: dict[str, Any], defaults: dict[str, Any]) -> ResultsFile:
        """SaveError where nothing can be written, before anything is run."""
        found = cls(path, setting, defaults)
        with found._locked():
            return found

    def _locked(self) -> AbstractContextManager[None]:
        return locked(self.path.with_name(f".{self.path.name}.lock"))

    def _read(self) -> None:
        try:
            content = json.loads(self.path.read_text(encoding="utf-8"))  # before the arrays, which a writer replaces first
            arrays = load_arrays(self.rows_path)
            found = self._as_now(content["setting"])
            records = {(record["method"], record["seed"]): record for record in content["runs"]}
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise DataError(f"{self.path} is not a results file of enstruct compare ({error}); move it away.") from error
        if found != self.setting:
            raise DataError(
                f"{self.path} holds runs with another {'; '.join(differences(found, self.setting))}; write to another file."
            )
        for (method, seed), record in records.items():
            key = f"{method}/{seed}/"
            rows = {name.removeprefix(key): scores for name, scores in arrays.items() if name.startswith(key)}
            if not rows:
                raise DataError(f"{self.path} has a run without scores in {self.rows_path.name}: the files are not of one time.")
            self.cells.setdefault((method, seed), Cell(record, rows))

    def _as_now(self, setting: dict[str, Any]) -> dict[str, Any]:
        """With what earlier versions did not write: parameters had their defaults, and the data are taken for these."""
        found = dict(setting)
        if "model" in found and "model" in self.setting:
            young = {k: self.defaults[k] for k in self.setting["model"] if k not in found["model"]}
            found["model"] = {**found["model"], **young}
        if "environment" in found and "processor" in self.setting.get("environment", {}):
            found["environment"] = {"processor": FORMER_PROCESSOR, **found["environment"]}
        for name in {"content", "tables"} & self.setting.keys():
            found.setdefault(name, self.setting[name])
        return found

    def run(self, method: str, seed: int, work: Callable[[], Cell]) -> Cell:
        """The stored cell, here or by another process, or ``work()``, stored at once with the commit it ran from."""
        if (method, seed) not in self.cells and self.path.exists():
            self._read()
        if (method, seed) not in self.cells:
            commit = present_commit()
            self.cells[method, seed] = work()
            self.cells[method, seed].record["commit"] = commit
            self.write()
        return self.cells[method, seed]

    def write(self) -> None:
        """What is here and what others have added."""
        with self._locked():
            if self.path.exists():
                self._read()
            self._write()

    def _write(self) -> None:
        rows = {f"{m}/{s}/{n}": a.astype(np.float32) for (m, s), c in self.cells.items() for n, a in c.rows.items()}
        content = {"setting": self.setting, "runs": [c.record for c in self.cells.values()]}
        replace_file(self.rows_path, lambda part: save_arrays(part, rows))
        write_json(self.path, content)


def differences(there: dict[str, Any], here: dict[str, Any], prefix: str = "") -> list[str]:
    """Of settings: "environment.cores (2 there, 8 here)"."""
    found: list[str] = []
    for key in sorted({*there, *here}):
        a, b = there.get(key), here.get(key)
        if isinstance(a, dict) and isinstance(b, dict):
            found += differences(a, b, f"{prefix}{key}.")
        elif a != b:
            found.append(f"{prefix}{key} ({a!r} there, {b!r} here)")
    return found
