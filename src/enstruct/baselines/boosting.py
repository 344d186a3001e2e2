"""Gradient boosted trees, one ensemble a label: scikit-learn's HistGradientBoosting, which needs no further package.

Its settings are fixed: a rate of 0.05 and trees of 8 leaves with 10 rows at least, about half of scikit-learn's own for the first
and the last and a quarter for the second, as the rows of a rare label are few.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from enstruct.baselines.extra_trees import fits_densely
from enstruct.data.rows import Rows
from enstruct.encoders.boosted import BoostedTrees
from enstruct.errors import ConfigError

SETTINGS: dict[str, Any] = {
    "learning_rate": 0.05,
    "max_iter": 100,
    "max_leaf_nodes": 8,
    "min_samples_leaf": 10,
    "l2_regularization": 1.0,
    "early_stopping": False,
}
RARE = 3
"""Rows of a label's rarer value below which its share is all that is learnt."""


def fit_boosting(
    train: Rows,
    validation: Rows | None,
    positive_weight: NDArray[Any] | None = None,
    seed: int = 0,
    metric: str = "example-f1",
    should_stop: Callable[[], bool] = lambda: False,
) -> BoostedTrees:
    """``positive_weight`` (labels,) of positive rows; labels after ``should_stop`` says so get their shares alone."""
    if not fits_densely(train.X):
        raise ConfigError("Boosted trees need the features as a dense array, which these would not fit into: leave them out.")
    X = np.asarray(train.X.toarray() if sparse.issparse(train.X) else train.X)
    Y = sparse.csc_matrix(train.Y)
    models = []
    for label in range(Y.shape[1]):
        y = Y[:, [label]].toarray().ravel()
        factor = 1.0 if positive_weight is None else float(positive_weight[label])
        weight = (np.ones(len(y)) if train.weight is None else np.asarray(train.weight)) * np.where(y > 0, factor, 1.0)
        models.append(fit_label(X, y, weight, seed, untouched=should_stop()))
    return BoostedTrees.of_models(models)


def fit_label(X: NDArray[Any], y: NDArray[Any], weight: NDArray[Any], seed: int, untouched: bool = False) -> Any:
    """A fitted ensemble, or the label's log-odds where its values are too few (or ``untouched``)."""
    from sklearn.ensemble import HistGradientBoostingClassifier  # only here: networks do without

    positives = int((y > 0).sum())
    if untouched or min(positives, len(y) - positives) < RARE:
        share = ((weight * (y > 0)).sum() + 0.5) / (weight.sum() + 1)
        return float(np.log(share / (1 - share)))
    unequal = weight if (weight != weight[0]).any() else None  # with weights scikit-learn bins fifty times as slowly
    return HistGradientBoostingClassifier(**SETTINGS, random_state=seed).fit(X, y > 0, sample_weight=unequal)
