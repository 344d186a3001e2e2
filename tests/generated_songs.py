"""Generated songs whose mood and instruments hang together, for the tests of the workbench."""

import csv

import numpy as np

LABELS = ["calm", "happy", "sad", "piano", "guitar", "drums"]
HEADER = {"task": "labels", "data": "new.csv", "rows": 30, "names": sorted(LABELS), "content": "c"}
"""Of answers about 30 rows."""


def songs(n, seed=0):
    """(rows, 4) features, (rows, 6) labels: one mood each, instruments by the mood."""
    rng = np.random.default_rng(seed)
    mood = rng.integers(0, 3, n)
    instruments = rng.random((n, 3)) < np.array([[0.9, 0.3, 0.1], [0.2, 0.9, 0.8], [0.7, 0.1, 0.3]])[mood]
    Y = np.column_stack([np.eye(3, dtype=int)[mood], instruments.astype(int)])
    X = Y @ np.random.default_rng(9).normal(size=(6, 4)) + rng.normal(0, 1.5, (n, 4))
    return X.round(3), Y


def write_songs(path, n=120, seed=0, labelled=True):
    X, Y = songs(n, seed)
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["f0", "f1", "f2", "f3", *(LABELS if labelled else [])])
        for x, y in zip(X, Y, strict=True):
            writer.writerow([*x, *(y if labelled else [])])
    return path
