"""Labels that come with like features, in clusters of equal size: the order of a label tree's leaves.

A label is the mean of its rows' features, of length 1. A cluster is split into halves by 2-means on the sphere, each label going
to the nearer mean as far as that half has room (Prabhu et al. 2018), and again, until all are small enough.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.preprocessing import normalize

MOST_ROUNDS = 20
"""Of 2-means; few clusters take ten."""


def vectors_of_labels(X: Any, Y: sparse.csr_matrix) -> sparse.csr_matrix:
    """(labels, features) of length 1, of labels without rows 0."""
    rows = normalize(sparse.csr_matrix(X).astype(np.float32))
    return normalize(sparse.csr_matrix(Y.T.astype(np.float32) @ rows))


def clustered(vectors: sparse.csr_matrix, depth: int, seed: int) -> list[NDArray[np.intp]]:
    """2^depth clusters in the tree's order, whose sizes differ by one at most."""
    rng, clusters = np.random.default_rng(seed), [np.arange(vectors.shape[0])]
    for _ in range(depth):
        clusters = [half for cluster in clusters for half in _halves(vectors, cluster, rng)]
    return clusters


def _halves(vectors: sparse.csr_matrix, cluster: NDArray[np.intp], rng: np.random.Generator) -> list[NDArray[np.intp]]:
    own = vectors[cluster]
    ahead = _similarity(own, own[rng.integers(len(cluster))]) - _similarity(own, own[rng.integers(len(cluster))])
    first = _nearer(ahead)
    for _ in range(MOST_ROUNDS):
        ahead = _similarity(own, _mean(own, first)) - _similarity(own, _mean(own, ~first))
        before, first = first, _nearer(ahead)
        if bool((first == before).all()):
            break
    return [cluster[first], cluster[~first]]


def _nearer(ahead: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Whether each label is of the first half: the half of the labels of the largest ``ahead``."""
    first = np.zeros(len(ahead), dtype=bool)
    first[np.argsort(-ahead, kind="stable")[: len(ahead) // 2]] = True
    return first


def _mean(vectors: sparse.csr_matrix, some: NDArray[np.bool_]) -> sparse.csr_matrix:
    return normalize(sparse.csr_matrix(vectors[some].sum(0)))


def _similarity(vectors: sparse.csr_matrix, centre: sparse.csr_matrix) -> NDArray[np.float32]:
    return np.asarray((vectors @ centre.T).todense()).ravel()
