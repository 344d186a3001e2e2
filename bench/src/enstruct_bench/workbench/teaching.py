"""Whether the order of the rows teaches more: F1 on test rows after so many labelled, in the page's order and at random.

As from nothing: the first rows are drawn at random for all; then the page's order takes rows by what they teach its last model,
with every fourth drawn at random, and models are fitted as the page fits them. Beside it the order by the labels' entropies
alone. Decisions cut at a half, as the page shows.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from enstruct.estimators.joint import JointMultiLabelClassifier
from enstruct.metrics import rowwise_f1
from enstruct.workbench.label_sets import uncertainty_of
from enstruct.workbench.learning import FIRST
from enstruct.workbench.row_order import RowOrder
from enstruct_bench.comparison.protocols import load_protocol
from enstruct_bench.joint.table import table_of

SIZES = (FIRST, 40, 80, 160)


def measured(data: str, seed: int, base: str, minutes: float) -> dict[str, Any]:
    """{"sizes": ..., "teaching": [F1 at each size], "entropy": [...], "random": [...]}."""
    table = table_of(load_protocol(data, "auto", seed, None, [])[0])
    X, Y = table.X, table.Y.astype(np.float64)
    order = np.random.default_rng([seed, 31]).permutation(len(Y))
    f1: dict[str, list[float]] = {"teaching": [], "entropy": [], "random": []}
    for way, scores in f1.items():
        labelled: list[int] = [int(row) for row in order[:FIRST]]
        queue = RowOrder(len(Y), "teaching", seed)
        model: JointMultiLabelClassifier | None = None
        for size in SIZES:
            if size > FIRST:
                if way == "random":
                    labelled = [int(row) for row in order[:size]]
                else:
                    queue.rank(partial(_worth, way, model, X)).join()
                    finished = set(labelled)
                    while len(labelled) < size:
                        row = queue.next("me", finished)
                        assert row is not None
                        labelled.append(row)
                        finished.add(row)
            rows = np.array(sorted(labelled))
            model = JointMultiLabelClassifier(base, minutes=minutes, random_state=seed).fit(X[rows], Y[rows])
            p = np.asarray(model.predict_proba(table.X_test))
            scores.append(float(rowwise_f1(table.Y_test, p >= 0.5).mean()))
    return {"data": data, "seed": seed, "base": base, "sizes": list(SIZES), **f1}


def _worth(way: str, model: Any, X: Any, rows: NDArray[np.intp]) -> NDArray[np.float64]:
    if way == "teaching":
        return uncertainty_of(model, X[rows])
    p = np.asarray(model.predict_proba(X[rows]))
    return np.asarray(-(xlogy(p, p) + xlogy(1 - p, 1 - p)).sum(1))
