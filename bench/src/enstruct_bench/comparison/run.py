"""One cell of a comparison: one method, one seed, one split.

Every method gets the same rows, the same batches and at most the same number of epochs in each of its stages, the same stopping
rule and the same decision rules, all fitted on the same validation rows. Methods of several stages (``spen``, ``nce``, static
SEAL) so may make more updates; each record counts them.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from enstruct.methods import Method
from enstruct.metrics.base import ratio
from enstruct.training.callbacks import Callback
from enstruct_bench.comparison.comparison import Comparison, Parameters
from enstruct_bench.comparison.results_file import Cell


def run_cell(
    comparison: Comparison,
    method: str | Method,
    parts: Any,
    seed: int,
    model: Parameters,
    callbacks: Sequence[Callback] = (),
    initial: Any = None,
) -> Cell:
    """Train, choose epochs and the decision on the validation part, score on the test part; ``initial``: where it starts."""
    return fitted_cell(comparison, method, parts, seed, model, callbacks, initial)[0]


def fitted_cell(
    comparison: Comparison,
    method: str | Method,
    parts: Any,
    seed: int,
    model: Parameters,
    callbacks: Sequence[Callback] = (),
    initial: Any = None,
) -> tuple[Cell, Any]:
    """The cell, and the estimator that it is of."""
    comparison.check_parts(parts, model)
    train, validation, (X, truth) = comparison.contents(parts)
    estimator = comparison.make(method, seed, model, callbacks, initial)
    begin = time.perf_counter()
    comparison.fit(estimator, method, train, validation)
    fit_seconds = time.perf_counter() - begin
    begin = time.perf_counter()
    chosen = estimator.predict(X)
    predict_seconds = time.perf_counter() - begin
    answers = {**comparison.answers(estimator, X), "chosen": chosen}
    metric = comparison.metric(estimator, model)
    counts = {rule: comparison.counts(estimator, truth, answer, metric) for rule, answer in answers.items()}
    record = {
        "method": method if isinstance(method, str) else method.name,
        "seed": seed,
        "metric": metric,
        "decision": estimator.decision_,
        "score": {rule: ratio(each) for rule, each in counts.items()},
        "validation": estimator.decision_scores_,
        **comparison.figures(estimator, parts, answers, counts, metric),
        "epochs": estimator.n_iter_,
        "predictor_updates": estimator.updates_["predictor"],
        "energy_updates": estimator.updates_["energy"],
        "fit_seconds": fit_seconds,
        "predict_seconds": predict_seconds,
    }
    return Cell(record, {rule: counts[rule] for rule in comparison.rules}), estimator
