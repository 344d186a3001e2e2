"""One-vs-rest logistic regression with C tuned on validation rows: the baseline that counts.

One problem a label, as many at a time as torch has threads (fewer on large X). C is a peak, over ``C_GRID``, of the metric at
the tuned threshold on validation rows: uphill from 1, of CSR rows from 10, in steps of ten and then of three, as far as there is
time; without validation rows it is 1. Dense rows go to liblinear, which also shrinks the intercept and so ties rare labels' base
rates to C; ``intercept_scaling=10`` makes that shrinkage a hundred times weaker. CSR rows go to L-BFGS, which leaves the
intercept free, begins each C at the weights of the best one before, and takes less time on texts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit

from enstruct.data.rows import Rows
from enstruct.decisions.thresholds import best_threshold_score
from enstruct.encoders import LinearPredictor

Model = tuple[NDArray[Any], NDArray[Any]]
MOST_COPIED = 2**31
"""Bytes that liblinear's copies of the features may take together."""
C_GRID = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
UNTUNED, UNTUNED_ON_TEXTS = 1.0, 10.0
STEPS = (2, 1)
"""Places of the grid that are gone at a time: factors of about ten and three."""


def fit_one_vs_rest(
    train: Rows,
    validation: Rows | None,
    positive_weight: NDArray[Any] | None = None,
    seed: int = 0,
    metric: str = "example-f1",
    should_stop: Callable[[], bool] = lambda: False,
    C: float | None = None,
) -> LinearPredictor:
    """``positive_weight`` (labels,) of positive rows; ``should_stop`` says when to try no other C any more; ``C``: this one."""

    def fit(C: float, start: Model | None) -> Model:
        return _fit(train, C, positive_weight, seed, start)

    if C is None and validation is not None:
        start = UNTUNED_ON_TEXTS if sparse.issparse(train.X) else UNTUNED
        C, (weights, biases) = _peak(fit, start, validation, metric, should_stop)
    else:
        C = UNTUNED if C is None else C
        weights, biases = fit(C, None)
    predictor = LinearPredictor(torch.from_numpy(weights).float(), torch.from_numpy(biases).float())
    predictor.chosen = {"C": C}
    return predictor


def _peak(
    fit: Callable[[float, Model | None], Model], start: float, validation: Rows, metric: str, should_stop: Callable[[], bool]
) -> tuple[float, Model]:
    """The best C that was tried, ``start`` first, and its model."""
    best, quality, model = -1, -np.inf, None
    tried: set[int] = set()

    def rises_at(place: int) -> bool:
        nonlocal best, quality, model
        if place in tried or not 0 <= place < len(C_GRID):
            return False
        tried.add(place)
        there = fit(C_GRID[place], model)
        score = best_threshold_score(_predict(there, validation.X), validation.Y, metric, validation.weight)
        if score <= quality:
            return False
        best, quality, model = place, score, there
        return True

    rises_at(C_GRID.index(start))
    for step in STEPS:
        for way in (step, -step):
            while not should_stop() and rises_at(best + way):
                pass
    assert model is not None  # the first score is above -inf
    return C_GRID[best], model


def _fit(train: Rows, C: float, positive_weight: NDArray[Any] | None, seed: int, start: Model | None = None) -> Model:
    """``start``: weights of another C, where an iterative solver begins."""
    from sklearn.utils.parallel import Parallel, delayed

    columns = sparse.csc_matrix(train.Y)
    jobs = (
        delayed(_fit_label)(
            train, columns[:, [label]].toarray().ravel(), C, label_weight, seed, start and (start[0][label], start[1][label])
        )
        for label, label_weight in enumerate([None] * columns.shape[1] if positive_weight is None else positive_weight)
    )
    models = Parallel(n_jobs=_at_a_time(train.X), require="sharedmem")(jobs)  # liblinear releases the interpreter's lock
    return np.stack([weights for weights, _ in models]), np.array([bias for _, bias in models])


def _at_a_time(X: Any) -> int:
    """How many problems: each copies all of X, 16 bytes a cell."""
    cells = X.nnz if sparse.issparse(X) else X.size
    return max(1, min(torch.get_num_threads(), MOST_COPIED // (16 * max(1, cells))))


def _fit_label(
    train: Rows, y: NDArray[Any], C: float, positive_weight: float | None, seed: int, start: tuple[NDArray[Any], float] | None
) -> tuple[NDArray[Any], float]:
    from sklearn.linear_model import LogisticRegression  # only here: networks do without

    if y.min() == y.max():  # a label without both values in the training part: a constant answer
        return np.zeros(train.X.shape[1]), 20.0 if y[0] else -20.0
    class_weight = None if positive_weight is None else {0: 1.0, 1: float(positive_weight)}
    if sparse.issparse(train.X):
        model = LogisticRegression(C=C, class_weight=class_weight, tol=1e-5, max_iter=1000, warm_start=True)
        if start is not None:
            model.classes_, model.coef_, model.intercept_ = np.unique(y), start[0][None], np.array([start[1]])
    else:
        model = LogisticRegression(
            C=C, solver="liblinear", intercept_scaling=10.0, class_weight=class_weight, random_state=seed, max_iter=200
        )
    model.fit(train.X, y, sample_weight=train.weight)
    return model.coef_[0], float(model.intercept_[0])


def _predict(model: Model, X: Any) -> NDArray[Any]:
    weights, biases = model
    return np.asarray(expit(X @ weights.T + biases))
