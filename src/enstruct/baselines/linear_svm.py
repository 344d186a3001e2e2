"""One-vs-rest linear support vector machines, which on texts with rare labels are ahead of logistic regression.

    minimise   |(w_l, b_l)|^2 / 2 + C sum_n s_n max(0, 1 - (2 y_nl - 1) (w_l . x_n + b_l))^2       (liblinear; Fan et al. 2008)

C is a peak of the metric on validation rows, as that of logistic regression. Margins are no log-odds: those are scale * margin +
shift, of the least log-loss on validation rows, one pair for all labels, as a rare label has too few rows for a pair of its own.
"""

from __future__ import annotations

import warnings
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

C_GRID = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
UNTUNED = 1.0
MOST_COPIED = 2**31
"""Bytes that liblinear's copies of the features may take together."""
MOST_STEPS = 2000
"""Of liblinear, passes over the rows."""
LEAST_SCALE = 1e-3
MOST_CELLS = 2**20
"""Margins that scale and shift are fitted to, at most."""


def fit_linear_svm(
    train: Rows,
    validation: Rows | None,
    positive_weight: NDArray[Any] | None = None,
    seed: int = 0,
    metric: str = "example-f1",
    should_stop: Callable[[], bool] = lambda: False,
    C: float | None = None,
    scale: float | None = None,
    shift: float | None = None,
) -> LinearPredictor:
    """``positive_weight`` (labels,) of positive rows; ``should_stop`` says when to try no other C any more; ``C``, ``scale``,
    ``shift``: these ones."""

    def fit(C: float, start: Model | None) -> Model:
        return _fit(train, C, positive_weight, seed)

    if C is None and validation is not None:
        C, (weights, biases) = peak(fit, C_GRID, UNTUNED, validation, metric, should_stop)
    else:
        C = UNTUNED if C is None else C
        weights, biases = fit(C, None)
    if scale is None or shift is None:
        scale, shift = _odds((weights, biases), train if validation is None else validation)
    constant = ~weights.any(1)
    weights, biases = scale * weights, np.where(constant, biases, scale * biases + shift)
    predictor = LinearPredictor(torch.from_numpy(weights).float(), torch.from_numpy(biases).float())
    predictor.chosen = {"C": C, "scale": scale, "shift": shift}
    return predictor


def _fit(train: Rows, C: float, positive_weight: NDArray[Any] | None, seed: int) -> Model:
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.svm import LinearSVC  # only here: networks do without
    from sklearn.utils.parallel import Parallel, delayed

    columns = sparse.csc_matrix(train.Y)
    n_features = train.X.shape[1]

    def fit(label: int) -> tuple[NDArray[Any], float]:
        y = columns[:, [label]].toarray().ravel()
        if y.min() == y.max():
            return np.zeros(n_features), CERTAIN if y[0] else -CERTAIN
        weight = None if positive_weight is None else {0: 1.0, 1: float(positive_weight[label])}
        dual = train.X.shape[0] < n_features
        model = LinearSVC(C=C, dual=dual, class_weight=weight, random_state=seed, max_iter=MOST_STEPS)
        model.fit(train.X, y, sample_weight=train.weight)
        return model.coef_[0], float(model.intercept_[0])

    cells = train.X.nnz if sparse.issparse(train.X) else train.X.size
    at_a_time = max(1, min(torch.get_num_threads(), MOST_COPIED // (16 * max(1, cells))))  # each copies X, 16 bytes a cell
    if train.X.shape[0] < n_features:
        at_a_time = 1  # random numbers of the dual would be shared among threads
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # what is nearly the optimum answers as well
        models = Parallel(n_jobs=at_a_time, require="sharedmem")(delayed(fit)(label) for label in range(columns.shape[1]))
    return np.stack([weights for weights, _ in models]), np.array([bias for _, bias in models])


def _odds(model: Model, rows: Rows) -> tuple[float, float]:
    """(scale, shift) of the least log-loss on these rows, of labels that have weights."""
    weights, biases = model
    own = np.flatnonzero(weights.any(1))
    few = np.linspace(0, len(rows) - 1, min(len(rows), max(1, MOST_CELLS // max(1, len(own))))).astype(int)
    margins = np.asarray(rows.X[few] @ weights[own].T + biases[own]).ravel()
    truth = np.asarray(rows.Y[few][:, own].toarray(), dtype=np.float64).ravel()
    cells = np.ones(len(few)) if rows.weight is None else rows.weight[few]
    return odds_of(margins, truth, np.repeat(cells, len(own)))


def odds_of(margins: NDArray[Any], truth: NDArray[Any], weight: NDArray[Any]) -> tuple[float, float]:
    """(scale, shift) of the least log-loss of cells, all (cells,); (1, 0) where all are of one value.

    Margins that would be turned say nothing: what is left of them is their order.
    """
    counted = weight > 0
    if not 0 < truth[counted].sum() < counted.sum():
        return 1.0, 0.0
    scales, shifts = fit_logistic(margins.reshape(-1, 1), truth.reshape(-1, 1), weight.reshape(-1, 1), 1e6)
    if scales[0, 0] > 0:
        return float(scales[0, 0]), float(shifts[0])
    share = float(weight @ truth / weight.sum())
    return LEAST_SCALE, float(np.log(share / (1 - share)))
