"""Four labels that are copies of one, which features tell with noise."""

import numpy as np
from scipy import sparse

from enstruct.data.dataset import Dataset


def copies(rows=120, Y=None, seed=0):
    rng = np.random.default_rng(seed)
    one = rng.random((rows, 1)) < 0.5
    X = np.concatenate([3 * one + rng.normal(size=(rows, 1)), rng.normal(size=(rows, 2))], axis=1)
    Y = one.repeat(4, axis=1) if Y is None else Y
    names = tuple("xyz"), tuple("abcd")
    return Dataset(X, sparse.csr_matrix(Y.astype(np.uint8)), *names, name="copies")
