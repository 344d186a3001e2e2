"""One cell of a comparison: one method, one seed, one split; and the file finished cells are kept in.

Every method gets the same rows, the same batches and at most the same number of epochs in each of its stages, the same stopping
rule and the same decision rules, all fitted on the same validation rows. Methods of several stages (``spen``, ``nce``, static
SEAL) so may make more updates; each record counts them. Rows named "auto-folds" alone learn from validation rows too.
"""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse

from enstruct.data.splits import Splits
from enstruct.errors import DataError
from enstruct.estimators import AutoMultiLabelClassifier, EnergyMultiLabelClassifier
from enstruct.estimators.members import TRAINED, changed
from enstruct.files import locked, replace_file
from enstruct.methods import METHODS, Method, get_method
from enstruct.metrics import METRICS, ROWWISE, average_precision, calibration_error, rowwise_f1
from enstruct.training.callbacks import Callback

FORMER_PROCESSOR = "Intel(R) Xeon(R) Processor"
"""What results that do not say their processor were made on."""
RULES_SHOWN = ("fixed", "threshold", "chosen")
FOLDED = "auto-folds"
"""The automatic row that is given training and validation rows together, as `enstruct train --auto` is."""
AUTOMATIC = ("auto", FOLDED)
NETWORKS, AUTO_MINUTES, SEED_STEP = 6, 10.0, 100
"""Of automatic rows: nets, budget, and how far the seeds of one run are from those of the next."""


@dataclass
class Cell:
    """``record``: settings, figures, times. ``rows``: rule -> (test rows,) score of each row.

    The score is the model's ``metric`` where that is a mean over rows (:data:`~enstruct.metrics.ROWWISE`), else example-F1.
    """

    record: dict[str, Any]
    rows: dict[str, NDArray[np.float64]]


def stacked(above: Any, below: Any) -> Any:
    """Two matrices of rows as one; both are CSR or neither."""
    return sparse.vstack([above, below], format="csr") if sparse.issparse(above) else np.vstack([above, below])


def run_cell(method: str | Method, splits: Splits, seed: int, model: dict[str, Any], callbacks: Sequence[Callback] = ()) -> Cell:
    """Train on ``splits.train``, decide with rules fitted on ``splits.validation``, score on ``splits.test``.

    FOLDED rows do both on both, in turn.
    """
    estimator = make_estimator(method, seed, model, callbacks)
    train, held = splits.train, splits.validation
    begin = time.perf_counter()
    if _head(method) == FOLDED:
        estimator.fit(stacked(train.X, held.X), stacked(train.Y, held.Y))
    else:
        estimator.fit(train.X, train.Y, X_val=held.X, Y_val=held.Y)
    fit_seconds = time.perf_counter() - begin
    truth, X = splits.test.Y, splits.test.X
    begin = time.perf_counter()
    chosen = estimator.predict(X)
    predict_seconds = time.perf_counter() - begin
    predicted = estimator.predict_by_rule(X)
    p = estimator.predict_proba(X)
    predicted["chosen"] = chosen
    metric = scored_by(model)
    scores = {name: ROWWISE[metric](truth, y) for name, y in predicted.items()}
    every = {name: {each: score(truth, y) for each, score in METRICS.items()} for name, y in predicted.items()}
    record = {
        "method": method if isinstance(method, str) else method.name,
        "seed": seed,
        "decision": estimator.decision_,
        "example_f1": {name: found["example-f1"] for name, found in every.items()},
        metric.replace("-", "_"): {name: float(rows.mean()) for name, rows in scores.items()},
        "metrics": every,
        "validation_f1": estimator.decision_scores_,
        **{each.replace("-", "_"): every["chosen"][each] for each in ("micro-f1", "macro-f1", "subset-accuracy")},
        "average_precision": average_precision(truth, p),
        "calibration_error": calibration_error(truth, p),
        "fit_seconds": fit_seconds,
        "predict_seconds": predict_seconds,
        "epochs": estimator.n_iter_,
        "predictor_updates": estimator.updates_["predictor"],
        "energy_updates": estimator.updates_["energy"],
    }
    if isinstance(estimator, AutoMultiLabelClassifier):
        best = {name: max(found.values()) for name, found in estimator.candidates_.items()}
        record |= {"answer": estimator.chosen_, "candidates": best, "members": [name for name, _ in estimator.members_]}
        answers = {name: rowwise_f1(truth, chosen) for name, chosen in estimator.predict_by_candidate(X).items()}
        record |= {"candidate_f1": {name: float(rows.mean()) for name, rows in answers.items()}, "judged": estimator.judged_rows_}
    return Cell(record, {name: scores[name] for name in RULES_SHOWN})


def _head(method: str | Method) -> str:
    """Of an automatic row, without the methods it is given."""
    return method.partition(":")[0] if isinstance(method, str) else ""


def make_estimator(method: str | Method, seed: int, model: dict[str, Any], callbacks: Sequence[Callback] = ()) -> Any:
    """The classifier of a row: "auto", or "auto:cross-entropy+mlp" with these candidates, chooses and averages NETWORKS nets.

    "auto:cross-entropy" so has as many nets as "auto", all of them cross-entropy's. The same goes for FOLDED.
    """
    if isinstance(method, Method) or _head(method) not in AUTOMATIC:
        return EnergyMultiLabelClassifier(**{**model, "method": method, "random_state": seed, "callbacks": list(callbacks)})
    metric = model.get("metric", "example-f1")
    given: dict[str, Any] = {"metric": metric, "settings": changed(model), "random_state": SEED_STEP * seed}
    trained = TRAINED
    if ":" in method:
        given["methods"] = tuple(method.partition(":")[2].split("+"))
        trained = tuple(name for name in given["methods"] if METHODS[name].solver is None)
    given |= {"members": max(1, NETWORKS // max(1, len(trained))), "minutes": AUTO_MINUTES}
    return AutoMultiLabelClassifier(**given, callbacks=lambda title: list(callbacks))


def check_method(name: str | Method) -> None:
    """ConfigError for a row that is neither in the table nor automatic."""
    if isinstance(name, Method):
        return
    head, _, methods = name.partition(":")
    for each in [name] if head not in AUTOMATIC else methods.split("+") if methods else []:
        get_method(each)


def scored_by(model: dict[str, Any]) -> str:
    """The metric by which the cells of these settings are compared."""
    metric = model.get("metric", "example-f1")
    return metric if metric in ROWWISE else "example-f1"


def processor() -> str:
    """Its name: seconds depend on it, and so what is done within a budget of them."""
    info = Path("/proc/cpuinfo")
    names = (
        [line.partition(":")[2].strip() for line in info.read_text().splitlines() if line.startswith("model name")]
        if info.is_file()
        else []
    )
    return names[0] if names else platform.processor()


def environment() -> dict[str, Any]:
    """Versions and hardware, for the record."""
    return {
        "enstruct": version("enstruct"),
        "torch": torch.__version__,
        "scikit-learn": version("scikit-learn"),
        "numpy": np.__version__,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "processor": processor(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
    }


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


class ResultsFile:
    """``out.json`` (records) and ``out.rows.npz`` (the score of each test row): finished cells are never run again.

    Several processes may add to a file. A file written for other data, settings or library versions is refused, not mixed in;
    ``defaults`` are the model's parameters for those younger than the file.
    """

    def __init__(self, path: Path, setting: dict[str, Any], defaults: dict[str, Any]) -> None:
        self.path, self.rows_path = path, path.with_suffix(".rows.npz")
        self.defaults = json.loads(json.dumps(defaults))
        self.setting = json.loads(json.dumps(setting))
        self.cells: dict[tuple[str, int], Cell] = {}
        if path.exists():
            self._read()

    def _read(self) -> None:
        try:
            content = json.loads(self.path.read_text(encoding="utf-8"))  # before the arrays, which a writer replaces first
            arrays = dict(np.load(self.rows_path, allow_pickle=False))
            found = content["setting"]
            records = content["runs"]
        except (OSError, ValueError, KeyError, EOFError, BadZipFile) as error:
            raise DataError(f"{self.path} is not a results file of enstruct compare ({error}); move it away.") from error
        if "model" in found and "model" in self.setting:  # a parameter younger than the file had its default
            young = {k: self.defaults[k] for k in self.setting["model"] if k not in found["model"]}
            found = {**found, "model": {**found["model"], **young}}
        if "environment" in found and "processor" in self.setting.get("environment", {}):  # which older files do not have
            found = {**found, "environment": {"processor": FORMER_PROCESSOR, **found["environment"]}}
        if found != self.setting:
            raise DataError(
                f"{self.path} holds runs with another {'; '.join(differences(found, self.setting))}; write to another file."
            )
        for record in records:
            key = f"{record['method']}/{record['seed']}/"
            rows = {name.removeprefix(key): scores for name, scores in arrays.items() if name.startswith(key)}
            if not rows:
                raise DataError(f"{self.path} has a run without scores in {self.rows_path.name}: the files are not of one time.")
            self.cells.setdefault((record["method"], record["seed"]), Cell(record, rows))

    def run(self, method: str, seed: int, work: Callable[[], Cell]) -> Cell:
        """The stored cell, here or by another process, or ``work()``, stored at once."""
        if (method, seed) not in self.cells and self.path.exists():
            self._read()
        if (method, seed) not in self.cells:
            self.cells[method, seed] = work()
            self.write()
        return self.cells[method, seed]

    def write(self) -> None:
        """What is here and what others have added."""
        with locked(self.path.with_name(f".{self.path.name}.lock")):
            if self.path.exists():
                self._read()
            self._write()

    def _write(self) -> None:
        rows = {f"{m}/{s}/{n}": a.astype(np.float32) for (m, s), c in self.cells.items() for n, a in c.rows.items()}
        content = {"setting": self.setting, "runs": [c.record for c in self.cells.values()]}
        replace_file(self.rows_path, lambda part: save_arrays(part, rows))
        replace_file(self.path, lambda part: part.write_text(json.dumps(content, indent=1), encoding="utf-8"))


def save_arrays(path: Path, arrays: dict[str, Any]) -> None:
    """``np.savez_compressed`` to exactly this path."""
    with open(path, "wb") as file:  # a name would get .npz appended
        np.savez_compressed(file, **arrays)
