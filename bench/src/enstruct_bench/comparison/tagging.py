"""One cell of a comparison of taggers, and their table.

Methods whose first stage is cross-entropy start from one tagger of that seed, trained once: the row "cross-entropy" itself. So
all of them share its words, its tags and its weights, and differ by what comes after.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from enstruct.data.tagged import TaggedParts
from enstruct.errors import DataError
from enstruct.estimators import EnergySequenceTagger
from enstruct.methods import PREDICTOR_ALONE, get_method
from enstruct.methods.tags import TAG_METHODS
from enstruct.metrics.base import ratio
from enstruct.metrics.tags import accuracy_counts, get_tag_metric
from enstruct.training.callbacks import Callback
from enstruct_bench.comparison.fingerprint import fingerprint
from enstruct_bench.comparison.ratios import ratio_kind, stacked
from enstruct_bench.comparison.results_file import Cell
from enstruct_bench.comparison.summary import WHOLE, formatted

BASELINE = "cross-entropy"
COLUMNS = {
    "method": "method",
    "greedy": "{} greedy",
    "chosen": "{} chosen rule",
    "rules": "rule",
    "accuracy": "token accuracy",
    "difference": "Δ chosen [95%]",
    "epochs": "epochs",
    "predictor_updates": "F updates",
    "energy_updates": "E updates",
    "fit_seconds": "fit s",
    "predict_seconds": "predict s",
}


TAG_CELLS = ratio_kind(("span-f1", "accuracy"))


def recorded(model: dict[str, Any]) -> dict[str, Any]:
    """The parameters as a results file keeps them: of a table its file's name, since where it lies says nothing."""
    tables = {name: Path(model[name]).name for name in ("embeddings", "clusters") if isinstance(model[name], (str, Path))}
    return {**model, **tables}


def tables_of(model: dict[str, Any]) -> dict[str, str]:
    """What tells the tables that taggers begin with from others of the same name. DataError for one that is not there."""
    found = {}
    for name in ("embeddings", "clusters"):
        if isinstance(model[name], (str, Path)):
            try:
                found[name] = fingerprint(np.frombuffer(Path(model[name]).read_bytes(), dtype=np.uint8))
            except OSError as error:
                raise DataError(f"{name}: {error}.") from error
    return found


def starts_from_baseline(method: str) -> bool:
    """Whether the method goes on where a tagger trained by cross-entropy ends."""
    stages = get_method(method, TAG_METHODS).stages
    return stages[0] == PREDICTOR_ALONE[0] and len(stages) > 1


def run_tag_cell(
    method: str,
    parts: TaggedParts,
    seed: int,
    model: dict[str, Any],
    initial: EnergySequenceTagger | None = None,
    callbacks: Sequence[Callback] = (),
) -> tuple[Cell, EnergySequenceTagger]:
    """Train, choose epochs and the decision on the validation sentences, score on the test ones."""
    given = {**model, "method": method, "random_state": seed, "initial": initial, "callbacks": list(callbacks)}
    tagger = EnergySequenceTagger().set_params(**given)
    begin = time.perf_counter()
    validation = parts.validation
    tagger.fit(parts.train.sentences, parts.train.truth(), X_val=validation.sentences, y_val=validation.truth())
    fit_seconds = time.perf_counter() - begin
    begin = time.perf_counter()
    chosen = tagger.predict(parts.test.sentences)
    predict_seconds = time.perf_counter() - begin
    truth, metric = parts.test.truth(), get_tag_metric(tagger.metric_)
    found = {"greedy": tagger.predict(parts.test.sentences, decision="greedy"), "chosen": chosen}
    counts = {name: metric.counts(truth, tags) for name, tags in found.items()}
    record = {
        "method": method,
        "seed": seed,
        "metric": tagger.metric_,
        "decision": tagger.decision_,
        "score": {name: ratio(rows) for name, rows in counts.items()},
        "validation": tagger.decision_scores_,
        "accuracy": ratio(accuracy_counts(truth, chosen)),
        "started_from": None if initial is None else BASELINE,
        "epochs": tagger.n_iter_,
        "predictor_updates": tagger.updates_["predictor"],
        "energy_updates": tagger.updates_["energy"],
        "fit_seconds": fit_seconds,
        "predict_seconds": predict_seconds,
    }
    return Cell(record, {name: stacked(each) for name, each in counts.items()}), tagger


def tag_titles(metric: str) -> list[str]:
    return [title.format({"span-f1": "span F1", "accuracy": "accuracy"}[metric]) for title in COLUMNS.values()]


def formatted_tag_row(row: dict[str, Any]) -> list[str]:
    """The cells of a printed row, in the order of ``COLUMNS``."""
    return formatted(row, COLUMNS, whole=("epochs", *WHOLE, "fit_seconds"))
