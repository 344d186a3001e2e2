"""Labels that come with like features, in clusters of equal size: the order of a label tree's leaves.

A label is the mean of its rows' features, of length 1. A cluster is split into halves by 2-means on the sphere, each label going
to the nearer mean as far as that half has room (Prabhu et al. 2018), and again, until all are small enough.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

STARTS, MOST_ROUNDS = 4, 20
"""Of 2-means: labels that are alike may be parted by one start, for the others pull at them from both sides."""


def vectors_of_labels(X: Any, Y: sparse.csr_matrix) -> sparse.csr_matrix:
    """(labels, features) of length 1, of labels without rows 0."""
    from sklearn.preprocessing import normalize  # only here: networks do without

    rows = normalize(sparse.csr_matrix(X).astype(np.float32))
    return normalize(sparse.csr_matrix(Y.T.astype(np.float32) @ rows))


def clustered(vectors: sparse.csr_matrix, depth: int, seed: int) -> list[NDArray[np.intp]]:
    """2^depth clusters in the tree's order, whose sizes differ by one at most."""
    rng, clusters = np.random.default_rng(seed), [np.arange(vectors.shape[0])]
    for _ in range(depth):
        clusters = [half for cluster in clusters for half in _halves(vectors, cluster, rng)]
    return clusters


def _halves(vectors: sparse.csr_matrix, cluster: NDArray[np.intp], rng: np.random.Generator) -> list[NDArray[np.intp]]:
    """The halves whose labels are the most like their means, of those that random ones lead to."""
    own, best, halves = vectors[cluster], -1.0, np.zeros(0, dtype=bool)
    for _ in range(STARTS):
        first = _nearer(rng.random(len(cluster)))
        for _ in range(MOST_ROUNDS):
            before, (mean, other) = first, _means(own, first)
            first = _nearer(own @ (mean - other))
            if bool((first == before).all()):
                break
        mean, other = _means(own, first)
        alike = float((own @ mean)[first].sum() + (own @ other)[~first].sum())
        if alike > best:
            best, halves = alike, first
    return [cluster[halves], cluster[~halves]]


def _nearer(ahead: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether each label is of the first half: the half of the labels of the largest ``ahead``."""
    first = np.zeros(len(ahead), dtype=bool)
    first[np.argsort(-ahead, kind="stable")[: len(ahead) // 2]] = True
    return first


def _means(vectors: sparse.csr_matrix, first: NDArray[np.bool_]) -> NDArray[Any]:
    """(2, features) those of both halves, of length 1."""
    sums = np.stack([vectors.T @ half.astype(vectors.dtype) for half in (first, ~first)])
    return np.asarray(sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-30))
