"""What a multi-label data set is like: the figures of the field, and near-duplicates across its splits.

cardinality  mean number of labels a row          density  cardinality / labels
diversity    number of distinct label sets        singleton-only  labels that never occur beside another
unused       labels without a row                 near-duplicate  cosine similarity >= 0.99 of the features

Where labels have holes all figures of them count what is known to be there: cardinality, density and sets are lower bounds.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from enstruct.data.dataset import Dataset
from enstruct.data.mapped import MappedRows
from enstruct.data.splits import Splits, imputed

NEAR = 0.99
MOST_ROWS = 3000


def describe(data: Dataset) -> dict[str, Any]:
    """Sizes, cardinality (mean number of labels a row), density, and how often labels occur."""
    Y = sparse.csr_matrix(data.Y)
    sizes = np.diff(Y.indptr)
    counts = np.asarray(Y.sum(0, dtype=np.int64)).ravel()
    accompanied = np.asarray(Y[sizes > 1].sum(0, dtype=np.int64)).ravel()
    filled = missing = 0
    for block in data.X.blocks() if isinstance(data.X, MappedRows) else [data.X]:
        values = block.data if sparse.issparse(block) else block
        filled += block.nnz if sparse.issparse(block) else int(np.count_nonzero(block))
        missing += int(np.isnan(values).sum())
    return {
        "rows": len(data),
        "features": int(data.X.shape[1]),
        "labels": int(Y.shape[1]),
        "stored as": "sparse" if sparse.issparse(data.X) or getattr(data.X, "is_sparse", False) else "dense",
        "non-zero features a row": round(filled / max(len(data), 1), 2),
        "missing cells": missing,
        "cardinality": round(float(sizes.mean()), 4),
        "density": round(float(sizes.mean() / Y.shape[1]), 5),
        "distinct label sets": len({tuple(Y.indices[a:b]) for a, b in zip(Y.indptr, Y.indptr[1:], strict=False)}),
        "rows without a label": int((sizes == 0).sum()),
        "unused labels": int((counts == 0).sum()),
        "labels seen once": int((counts == 1).sum()),
        "singleton-only labels": int(((counts > 0) & (accompanied == 0)).sum()),
        "always-on labels": int((counts == len(data)).sum()),
        "unknown cells of labels": 0 if data.unknown is None else int(np.count_nonzero(data.unknown)),
    }


def near_duplicates(splits: Splits) -> list[dict[str, Any]]:
    """Rows of validation or test whose nearest earlier row (train; for test also validation) is a near-duplicate.

    At most ``MOST_ROWS`` rows of each are looked up; the entry says how many were. Nothing of rows without features, and of rows
    that stay in a file.
    """
    if not splits.train.X.shape[1] or isinstance(splits.train.X, MappedRows):
        return []
    from sklearn.neighbors import NearestNeighbors  # only here: they import much of scikit-learn
    from sklearn.preprocessing import StandardScaler

    features = {name: part.X for name, part in imputed(splits).parts().items()}
    if not sparse.issparse(features["train"]):
        scaler = StandardScaler().fit(features["train"])
        features = {name: scaler.transform(X) for name, X in features.items()}
    rows = []
    for earlier, later in (("train", "validation"), ("train", "test"), ("validation", "test")):
        looked_up = features[later][:MOST_ROWS]
        neighbours = NearestNeighbors(n_neighbors=1, metric="cosine", algorithm="brute").fit(features[earlier])
        distance, index = neighbours.kneighbors(looked_up)
        near = np.flatnonzero(1 - distance[:, 0] >= NEAR)
        rows.append(
            {
                "between": f"{earlier} / {later}",
                "looked up": looked_up.shape[0],
                "near-duplicates": len(near),
                f"first (row, {earlier} row)": [(int(i), int(index[i, 0])) for i in near[:5]],
            }
        )
    return rows
