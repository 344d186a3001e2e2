"""Logistic regressions, one a label, each on the rows where the label was observed.

All have one penalty, which is chosen by the log-loss of a fifth of the rows: the strongest whose successor is no better. Of many
labels some are asked, so that choosing costs no more than a few fits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse

from enstruct.encoders import LinearPredictor

PENALTIES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3)
"""scikit-learn's C on standardised features, the strongest penalty first."""
ASKED = 30
"""Labels by which the penalty is chosen, at most."""
HELD = 5
"""One row in so many judges."""


def fit_observed_linear(
    X: Any, Y: NDArray[np.float32], weight: NDArray[np.float64], seed: int, is_late: Callable[[], bool] = lambda: False
) -> LinearPredictor:
    """``Y`` (rows, labels) with NaN where unobserved; labels after ``is_late`` says so get their shares alone."""
    C = PENALTIES[-1] if is_late() else _penalty(X, Y, weight, seed)
    models = []
    for y in Y.T:
        rows = np.flatnonzero(~np.isnan(y))
        models.append(_fit_label(X, rows, y[rows], weight[rows], seed, 0.0 if is_late() else C))
    return LinearPredictor(torch.tensor(np.stack([w for w, _ in models])), torch.tensor([b for _, b in models]))


def _penalty(X: Any, Y: NDArray[np.float32], weight: NDArray[np.float64], seed: int) -> float:
    held = np.random.default_rng([seed, 1]).permutation(len(Y))[: len(Y) // HELD]
    others = np.setdiff1d(np.arange(len(Y)), held)
    labels = np.unique(np.linspace(0, Y.shape[1] - 1, min(ASKED, Y.shape[1])).astype(int))
    best, lowest = PENALTIES[0], np.inf
    for C in PENALTIES:
        loss = 0.0
        for y in Y.T[labels]:
            train, judged = others[~np.isnan(y[others])], held[~np.isnan(y[held])]
            w, bias = _fit_label(X, train, y[train], weight[train], seed, C)
            margin = (2 * y[judged] - 1) * (X[judged] @ w + bias)
            loss += float(weight[judged] @ np.logaddexp(0, -margin))
        if loss >= lowest:
            break
        best, lowest = C, loss
    return best


def _fit_label(
    X: Any, rows: NDArray[np.intp], y: NDArray[np.float32], weight: NDArray[np.float64], seed: int, C: float
) -> tuple[NDArray[np.float32], float]:
    """(weights, bias) on features as they are; the share's log-odds for C=0 and where the label has one value in these rows."""
    from sklearn.linear_model import LogisticRegression  # only here: networks do without
    from sklearn.preprocessing import StandardScaler

    if not C or not (0 < (y > 0).sum() < len(y)):
        share = ((weight * y).sum() + 0.5) / (weight.sum() + 1)
        return np.zeros(X.shape[1], dtype=np.float32), float(np.log(share / (1 - share)))
    scaler = StandardScaler(with_mean=not sparse.issparse(X)).fit(X[rows])
    model = LogisticRegression(C=C, solver="liblinear", intercept_scaling=10.0, random_state=seed, max_iter=200)
    model.fit(scaler.transform(X[rows]), y > 0, sample_weight=weight)
    weights = model.coef_[0] / scaler.scale_
    mean = 0.0 if scaler.mean_ is None or sparse.issparse(X) else float(weights @ scaler.mean_)
    return weights.astype(np.float32), float(model.intercept_[0]) - mean
