"""Missing cells: the mean of the feature over the training rows that have it (0, and a word, where none has)."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from enstruct.errors import DataError

log = logging.getLogger("enstruct")


def training_means(X: Any) -> NDArray[np.float64]:
    """(features,) means over present cells."""
    if sparse.issparse(X):
        missing = np.isnan(X.data)
        total = np.bincount(X.indices, np.where(missing, 0.0, X.data), minlength=X.shape[1])
        count = X.shape[0] - np.bincount(X.indices, missing, minlength=X.shape[1])
    else:
        total, count = np.nansum(X, axis=0), (~np.isnan(X)).sum(0)
    if empty := np.flatnonzero(count == 0).tolist():
        log.warning("features without a value in any training row are 0: %d of %d, first %s", len(empty), len(count), empty[:5])
    return np.asarray(total / np.maximum(count, 1))


def fill_missing(X: Any, means: NDArray[np.float64]) -> Any:
    """X with every NaN replaced by its feature's mean."""
    if X.shape[1] != len(means):
        raise DataError(f"X has {X.shape[1]} features, the stored means {len(means)}.")
    X = X.copy()
    if sparse.issparse(X):
        missing = np.isnan(X.data)
        X.data[missing] = means[X.indices[missing]]
        return X
    rows, columns = np.nonzero(np.isnan(X))
    X[rows, columns] = means[columns]
    return X
