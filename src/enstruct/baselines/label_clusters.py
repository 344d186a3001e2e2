"""Clusters of labels whose rows are alike, all of about one size.

A label is the mean of the rows that have it, each row of length one; many features are seen through a random projection, which
keeps angles (Johnson & Lindenstrauss 1984). Labels are halved again and again: two centres, to which all labels are dealt in
equal shares by the difference of their cosines, until none changes sides (balanced 2-means, as in Parabel: Prabhu et al. 2018).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

DIMENSIONS = 128
"""Features that labels are compared by, at most."""
MOST_SWEEPS = 20


def label_clusters(X: Any, Y: sparse.csr_matrix, size: int, seed: int) -> list[NDArray[np.intp]]:
    """Numbers of the labels of Y (rows, labels), cluster by cluster, ``size`` in each at most; ``X`` (rows, features)."""
    rng = np.random.default_rng(seed)
    points = _label_points(X, Y, rng)
    clusters = [np.arange(Y.shape[1])]
    while max(len(cluster) for cluster in clusters) > size:
        clusters = [np.sort(half) for cluster in clusters for half in _halves(points[cluster], cluster, rng)]
    return clusters


def _label_points(X: Any, Y: sparse.csr_matrix, rng: np.random.Generator) -> NDArray[np.float32]:
    """(labels, dimensions) of length one; of a label without rows, or with rows of zeros alone, a direction drawn at random."""
    n_features = X.shape[1]
    if n_features > DIMENSIONS:
        projection = rng.standard_normal((n_features, DIMENSIONS)).astype(np.float32)
        rows = np.asarray(X @ projection)
    else:
        rows = np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float32)
    points = np.asarray(sparse.csr_matrix(Y, dtype=np.float32).T @ _of_length_one(rows))
    nowhere = ~points.any(1)
    points[nowhere] = rng.standard_normal((int(nowhere.sum()), points.shape[1]))
    return _of_length_one(points)


def _of_length_one(points: NDArray[Any]) -> NDArray[np.float32]:
    points = np.asarray(points, dtype=np.float64)  # squares of large numbers would be none in single precision
    return np.asarray(points / np.maximum(np.linalg.norm(points, axis=1, keepdims=True), 1e-12), dtype=np.float32)


def _halves(points: NDArray[np.float32], labels: NDArray[np.intp], rng: np.random.Generator) -> list[NDArray[np.intp]]:
    """The labels, of these points, in two parts that differ by one label at most."""
    if len(labels) < 2:
        return [labels]
    centres = points[rng.choice(len(points), 2, replace=False)]
    half, before = len(points) // 2, np.zeros(len(points), dtype=bool)
    for _ in range(MOST_SWEEPS):
        nearer = np.argsort(points @ (centres[0] - centres[1]), kind="stable")
        second = np.zeros(len(points), dtype=bool)
        second[nearer[:half]] = True
        if (second == before).all():
            break
        before = second
        centres = _of_length_one(np.stack([points[~second].sum(0), points[second].sum(0)]))
    return [labels[~second], labels[second]]
