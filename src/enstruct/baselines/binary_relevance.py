"""One-vs-rest logistic regression with C tuned on validation rows: the baseline that counts.

C is a peak, over ``C_GRID``, of the metric at the tuned threshold on validation rows: uphill from 1, of CSR rows from 10, in
steps of ten and then of three, as far as there is time; without validation rows it is 1. Each C begins at the weights of the best
one before. On dense rows all labels are fitted at once (:mod:`enstruct.baselines.logistic`), their intercepts shrunk a little. On
CSR rows a product of matrices is no faster than one label's after another: L-BFGS takes them by themselves, as many at a time as
torch has threads, intercepts free.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse

from enstruct.baselines.linear import CERTAIN, Model, peak
from enstruct.baselines.logistic import fit_logistic
from enstruct.data.rows import Rows
from enstruct.encoders import LinearPredictor

C_GRID = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
UNTUNED, UNTUNED_ON_TEXTS = 1.0, 10.0
MOST_CELLS = 2**24
"""Of rows by labels that are worked on at a time."""


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
        return _fit(train, C, positive_weight, start)

    if C is None and validation is not None:
        start = UNTUNED_ON_TEXTS if sparse.issparse(train.X) else UNTUNED
        C, (weights, biases) = peak(fit, C_GRID, start, validation, metric, should_stop)
    else:
        C = UNTUNED if C is None else C
        weights, biases = fit(C, None)
    predictor = LinearPredictor(torch.from_numpy(weights).float(), torch.from_numpy(biases).float())
    predictor.chosen = {"C": C}
    return predictor


def _fit(train: Rows, C: float, positive_weight: NDArray[Any] | None, start: Model | None = None) -> Model:
    """``start``: weights of another C. A label without both values in these rows gets a constant answer."""
    columns = sparse.csc_matrix(train.Y)
    weights, biases = np.zeros((columns.shape[1], train.X.shape[1])), np.zeros(columns.shape[1])
    solve = _fit_each if sparse.issparse(train.X) else fit_logistic
    at_a_time = max(1, MOST_CELLS // len(train))
    for labels in np.split(np.arange(columns.shape[1]), range(at_a_time, columns.shape[1], at_a_time)):
        Y = columns[:, labels].toarray().astype(np.float64)
        varies = Y.min(0) != Y.max(0)
        biases[labels] = np.where(Y[0] > 0, CERTAIN, -CERTAIN)
        if varies.any():
            own, Y = labels[varies], Y[:, varies]
            cells = np.ones_like(Y) if train.weight is None else np.repeat(train.weight[:, None], len(own), axis=1)
            if positive_weight is not None:
                cells = np.where(Y > 0, cells * positive_weight[own], cells)
            weights[own], biases[own] = solve(train.X, Y, cells, C, start and (start[0][own], start[1][own]))
    return weights, biases


def _fit_each(X: Any, Y: NDArray[Any], S: NDArray[Any], C: float, start: Model | None) -> Model:
    """One label after another, or as many at a time as torch has threads."""
    from sklearn.linear_model import LogisticRegression  # only here: networks do without
    from sklearn.utils.parallel import Parallel, delayed

    def fit(label: int) -> tuple[NDArray[Any], float]:
        model = LogisticRegression(C=C, tol=1e-5, max_iter=1000, warm_start=True)
        if start is not None:
            model.classes_, model.coef_, model.intercept_ = np.arange(2.0), start[0][[label]], start[1][[label]]
        model.fit(X, Y[:, label], sample_weight=S[:, label])
        return model.coef_[0], float(model.intercept_[0])

    models = Parallel(n_jobs=torch.get_num_threads(), require="sharedmem")(delayed(fit)(label) for label in range(Y.shape[1]))
    return np.stack([weights for weights, _ in models]), np.array([bias for _, bias in models])
