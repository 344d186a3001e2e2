"""One-vs-rest logistic regression with C tuned on validation rows: the baseline that counts.

One problem a label, as many at a time as torch has threads (fewer on large X). C is the first peak, over
``C_GRID``, of the metric at the tuned threshold on validation rows, or the last from 1 on that there was time for; without
validation rows it is 1. Dense rows go to liblinear, which also shrinks the intercept and so ties rare labels' base rates to C;
``intercept_scaling=10`` makes that shrinkage a hundred times weaker. CSR rows go to L-BFGS, which leaves the intercept free,
begins each C at the weights of the one before, and takes less time on texts.
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
UNTUNED = 1.0


def fit_one_vs_rest(
    train: Rows,
    validation: Rows | None,
    positive_weight: NDArray[Any] | None = None,
    seed: int = 0,
    metric: str = "example-f1",
    should_stop: Callable[[], bool] = lambda: False,
) -> LinearPredictor:
    """``positive_weight`` (labels,) of positive rows; ``should_stop`` says when to try none but the untuned C any more."""
    weights, biases = _chosen(train, validation, positive_weight, seed, metric, should_stop)
    return LinearPredictor(torch.from_numpy(weights).float(), torch.from_numpy(biases).float())


def _chosen(
    train: Rows,
    validation: Rows | None,
    positive_weight: NDArray[Any] | None,
    seed: int,
    metric: str,
    should_stop: Callable[[], bool],
) -> Model:
    if validation is None:
        return _fit(train, UNTUNED, positive_weight, seed)
    tried: list[tuple[float, Model]] = []
    for C in C_GRID:
        if C != UNTUNED and should_stop():  # that one is tried in any case: smaller ones may be far worse
            continue
        model = _fit(train, C, positive_weight, seed, tried[-1][1] if tried else None)
        quality = best_threshold_score(_predict(model, validation.X), validation.Y, metric, validation.weight)
        if tried and quality < tried[-1][0]:
            break  # the score has one peak in C, and larger C cost more
        tried.append((quality, model))
    return tried[-1][1]


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
