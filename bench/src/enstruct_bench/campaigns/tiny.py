"""Rows, sentences and images that are fitted in no time."""

from __future__ import annotations

from typing import Any

import numpy as np


def table() -> tuple[Any, Any]:
    """(40 rows of 5 features, 3 labels of each)."""
    generator = np.random.default_rng(0)
    X = generator.normal(size=(40, 5))
    return X, (X[:, :3] + generator.normal(size=(40, 3)) > 0).astype(int)


def sentences() -> tuple[Any, Any]:
    words, tags = (
        [["Ada", "met", "Bob"], ["in", "Rome"], ["Bob", "slept"]],
        [["B-PER", "O", "B-PER"], ["O", "B-LOC"], ["B-PER", "O"]],
    )
    return words * 4, tags * 4


def images() -> tuple[Any, Any]:
    grids = np.random.default_rng(0).random((6, 8, 8))
    return grids, (grids > 0.5).astype(int)
