"""Generated sparse documents."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from enstruct.data.dataset import Dataset


def sparse_topics(rows: int, features: int, labels: int, cardinality: float = 5.0, words: int = 60, seed: int = 0) -> Dataset:
    """Sparse documents of a given shape, for benchmarks and memory tests: labels emit words of their own."""
    rng = np.random.default_rng(seed)
    popularity = 1.0 / np.arange(1, labels + 1) ** 0.8
    popularity /= popularity.sum()
    sizes = 1 + rng.poisson(max(cardinality - 1, 0), rows)
    row = np.repeat(np.arange(rows), sizes)
    label = rng.choice(labels, size=int(sizes.sum()), p=popularity)
    Y = sparse.csr_matrix((np.ones(len(row), np.uint8), (row, label)), shape=(rows, labels))
    Y.data[:] = 1
    own = rng.integers(features, size=(labels, 20))
    who = rng.integers(len(row), size=rows * words)
    noise = rng.integers(features, size=rows * words)
    word = np.where(rng.random(rows * words) < 0.5, own[label[who], rng.integers(20, size=rows * words)], noise)
    X = sparse.csr_matrix((np.ones(rows * words), (row[who], word)), shape=(rows, features))
    X.data[:] = 1.0
    names = tuple(f"w{i}" for i in range(features)), tuple(str(i) for i in range(labels))
    return Dataset(X, Y, *names, name="sparse-topics")
