"""One cell of a comparison: one method, one seed, one split.

Every method gets the same rows, the same batches and at most the same number of epochs in each of its stages, the same stopping
rule and the same decision rules, all fitted on the same validation rows. Methods of several stages (``spen``, ``nce``, static
SEAL) so may make more updates; each record counts them. Rows named "auto-folds" alone learn from validation rows too.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from enstruct.data.splits import Splits
from enstruct.estimators import AutoMultiLabelClassifier, EnergyMultiLabelClassifier
from enstruct.estimators.members import TRAINED, changed
from enstruct.methods import METHODS, Method, get_method
from enstruct.metrics import METRICS, average_precision, calibration_error, rowwise_f1
from enstruct.training.callbacks import Callback
from enstruct_bench.comparison.results_file import Cell, Kind

RULES_SHOWN = ("fixed", "threshold", "chosen")
FOLDED = "auto-folds"
"""The automatic row that is given training and validation rows together, as `enstruct train --auto` is."""
AUTOMATIC = ("auto", FOLDED)
NETWORKS, AUTO_MINUTES, SEED_STEP = 6, 10.0, 100
"""Of automatic rows: nets, budget, and how far the seeds of one run are from those of the next."""


MEANS = ("example-f1", "hamming", "subset-accuracy")
"""Metrics that are means over rows."""
SHOWN = ("micro_f1", "macro_f1", "predictor_updates", "energy_updates", "fit_seconds", "predict_seconds")
"""Figures of a cell that tables print beside its scores."""


def label_kind(model: dict[str, Any]) -> Kind:
    """Of cells with these settings."""
    scores = {scored_by(model).replace("-", "_"): dict.fromkeys(RULES_SHOWN, float)}
    return Kind({"decision": str, **scores, **dict.fromkeys(SHOWN, float)}, RULES_SHOWN)


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
        estimator.fit(train.X, train.Y, X_val=held.X, y_val=held.Y)
    fit_seconds = time.perf_counter() - begin
    truth, X = splits.test.Y, splits.test.X
    begin = time.perf_counter()
    chosen = estimator.predict(X)
    predict_seconds = time.perf_counter() - begin
    predicted = estimator.predict_by_rule(X)
    p = estimator.predict_proba(X)
    predicted["chosen"] = chosen
    metric = scored_by(model)
    scores = {name: METRICS[metric].counts(truth, y).above[:, 0] for name, y in predicted.items()}
    every = {name: {each: score(truth, y) for each, score in METRICS.items()} for name, y in predicted.items()}
    record = {
        "method": method if isinstance(method, str) else method.name,
        "seed": seed,
        "decision": estimator.decision_,
        "example_f1": {name: found["example-f1"] for name, found in every.items()},
        metric.replace("-", "_"): {name: float(rows.mean()) for name, rows in scores.items()},
        "metrics": every,
        "validation_f1": estimator.decision_scores_,
        "validation_score": _score_of_epochs(estimator),
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


def _score_of_epochs(estimator: Any) -> float | None:
    """The highest score of the last stage's epochs on validation rows, by what ends training; None where there are no epochs."""
    history = getattr(estimator, "history_", [])
    return max((each["score"] for each in history if each["stage"] == history[-1]["stage"]), default=None)


def _head(method: str | Method) -> str:
    """Of an automatic row, without the methods it is given."""
    return method.partition(":")[0] if isinstance(method, str) else ""


def make_estimator(method: str | Method, seed: int, model: dict[str, Any], callbacks: Sequence[Callback] = ()) -> Any:
    """The classifier of a row: "auto", or "auto:cross-entropy+mlp" with these candidates, chooses and averages NETWORKS nets.

    "auto:cross-entropy" so has as many nets as "auto", all of them cross-entropy's. The same goes for FOLDED.
    """
    if isinstance(method, Method) or _head(method) not in AUTOMATIC:
        given = {**model, "method": method, "random_state": seed, "callbacks": list(callbacks)}
        return EnergyMultiLabelClassifier().set_params(**given)
    metric = model.get("metric", "example-f1")
    given = {"metric": metric, "settings": changed(model), "random_state": SEED_STEP * seed}
    trained = TRAINED
    if ":" in method:
        given["methods"] = tuple(method.partition(":")[2].split("+"))
        trained = tuple(name for name in given["methods"] if METHODS[name].solver is None)
    given |= {"members": max(1, NETWORKS // max(1, len(trained))), "minutes": AUTO_MINUTES}
    return AutoMultiLabelClassifier(**given, member_callbacks=lambda title: list(callbacks))


def check_method(name: str | Method) -> None:
    """ConfigError for a row that is neither in the table nor automatic."""
    if isinstance(name, Method):
        return
    head, named, methods = name.partition(":")
    for each in [name] if head not in AUTOMATIC else methods.split("+") if named else []:
        get_method(each)


def scored_by(model: dict[str, Any]) -> str:
    """The metric by which the cells of these settings are compared."""
    metric = str(model.get("metric", "example-f1"))
    return metric if metric in MEANS else "example-f1"
