"""Linear models of labels with holes, each label's on the rows where it was observed.

    logistic regression       on standardised features
    support vector machine    on features as they are, which are terms of texts that have their weights already; margins are made
                              log-odds by one scale and shift for all labels (:mod:`enstruct.baselines.linear_svm`)

All labels have one penalty, which is chosen by the log-loss of a fifth of the rows: the strongest whose successor is no better.
Of many labels some are asked, so that choosing costs no more than a few fits. Machines are for weighed terms alone: on words that
have no weights, as bibtex's, the regressions had the lower log-loss.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse

from enstruct.baselines.linear_svm import odds_of
from enstruct.encoders import LinearPredictor

Fit = Callable[[Any, NDArray[Any], NDArray[Any], int, float], tuple[NDArray[Any], float]]
"""Rows, values, weights, seed, C -> weights and bias on features as they are."""

PENALTIES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3)
"""scikit-learn's C of regressions on standardised features, the strongest penalty first."""
OF_MACHINES = (0.1, 0.3, 1.0, 3.0, 10.0)
"""C of machines on rows of about length 1."""
MOST_STEPS = 2000
"""Of liblinear on machines, passes over the rows."""
ASKED = 30
"""Labels by which the penalty is chosen, at most."""
HELD = 5
"""One row in so many judges."""


def fit_observed_linear(
    X: Any,
    Y: NDArray[np.float32],
    weight: NDArray[np.float64],
    seed: int,
    is_late: Callable[[], bool] = lambda: False,
    machines: bool = False,
) -> LinearPredictor:
    """``Y`` (rows, labels) with NaN where unobserved; labels after ``is_late`` says so get their shares alone."""
    fit, penalties = (_machine, OF_MACHINES) if machines else (_regression, PENALTIES)
    C, scale, shift = (penalties[-1], 1.0, 0.0) if is_late() else _chosen(fit, penalties, X, Y, weight, seed, machines)
    models = []
    for y in Y.T:
        rows = np.flatnonzero(~np.isnan(y))
        if is_late() or not _varies(y[rows]):
            models.append(_share(X.shape[1], y[rows], weight[rows]))
        else:
            w, bias = fit(X[rows], y[rows] > 0, weight[rows], seed, C)
            models.append((scale * w, scale * bias + shift))
    weights, biases = np.stack([w for w, _ in models]), np.array([bias for _, bias in models])
    return LinearPredictor(torch.from_numpy(weights).float(), torch.from_numpy(biases).float())


def _chosen(
    fit: Fit, penalties: tuple[float, ...], X: Any, Y: NDArray[Any], weight: NDArray[Any], seed: int, calibrates: bool
) -> tuple[float, float, float]:
    """(C, scale, shift)."""
    held = np.random.default_rng([seed, 1]).permutation(len(Y))[: len(Y) // HELD]
    others = np.setdiff1d(np.arange(len(Y)), held)
    labels = np.unique(np.linspace(0, Y.shape[1] - 1, min(ASKED, Y.shape[1])).astype(int))
    best, lowest = (penalties[0], 1.0, 0.0), np.inf
    for C in penalties:
        margins, truth, cells = [np.zeros(0)], [np.zeros(0)], [np.zeros(0)]
        for y in Y.T[labels]:
            train, judged = others[~np.isnan(y[others])], held[~np.isnan(y[held])]
            if _varies(y[train]):
                w, bias = fit(X[train], y[train] > 0, weight[train], seed, C)
                margins.append(X[judged] @ w + bias)
                truth.append(y[judged])
                cells.append(weight[judged])
        z, t, s = (np.concatenate(part) for part in (margins, truth, cells))
        scale, shift = odds_of(z, t, s) if calibrates else (1.0, 0.0)
        loss = float(s @ np.logaddexp(0, -(2 * t - 1) * (scale * z + shift)))
        if loss >= lowest:
            break
        best, lowest = (C, scale, shift), loss
    return best


def _varies(y: NDArray[Any]) -> bool:
    return bool(0 < (y > 0).sum() < len(y))


def _share(n_features: int, y: NDArray[Any], weight: NDArray[Any]) -> tuple[NDArray[Any], float]:
    """The log-odds of how often the label was there."""
    share = ((weight * y).sum() + 0.5) / (weight.sum() + 1)
    return np.zeros(n_features), float(np.log(share / (1 - share)))


def _regression(X: Any, y: NDArray[Any], weight: NDArray[Any], seed: int, C: float) -> tuple[NDArray[Any], float]:
    from sklearn.linear_model import LogisticRegression  # only here: networks do without
    from sklearn.preprocessing import StandardScaler

    scaler = StandardScaler(with_mean=not sparse.issparse(X)).fit(X)
    model = LogisticRegression(C=C, solver="liblinear", intercept_scaling=10.0, random_state=seed, max_iter=200)
    model.fit(scaler.transform(X), y, sample_weight=weight)
    weights = model.coef_[0] / scaler.scale_
    mean = 0.0 if scaler.mean_ is None or sparse.issparse(X) else float(weights @ scaler.mean_)
    return weights, float(model.intercept_[0]) - mean


def _machine(X: Any, y: NDArray[Any], weight: NDArray[Any], seed: int, C: float) -> tuple[NDArray[Any], float]:
    from sklearn.svm import LinearSVC

    model = LinearSVC(C=C, dual=X.shape[0] < X.shape[1], random_state=seed, max_iter=MOST_STEPS)
    model.fit(X, y, sample_weight=weight)
    return model.coef_[0], float(model.intercept_[0])
