"""From each pixel's probabilities to its class.

greedy      the most probable class
threshold   two classes: the object where its probability is at least t, with t the best on validation images
"""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from enstruct.metrics.masks import get_mask_metric

MaskRule = Literal["greedy", "threshold"]
MASK_RULES: tuple[MaskRule, ...] = get_args(MaskRule)
GRID = np.round(np.arange(0.05, 0.96, 0.025), 3)


def greedy(p: NDArray[Any]) -> NDArray[np.int64]:
    """p (images, height, width, classes) -> class numbers (images, height, width)."""
    return np.asarray(p.argmax(-1))


def at_threshold(p: NDArray[Any], threshold: float) -> NDArray[np.int64]:
    """The same for two classes."""
    return (p[..., 1] >= threshold).astype(np.int64)


def evened(p: NDArray[Any], threshold: float) -> NDArray[np.float64]:
    """Probabilities of two classes (..., 2) whose odds are even where the second's was the threshold: 0 and 1 stay."""
    odds = np.stack([p[..., 0] * threshold, p[..., 1] * (1.0 - threshold)], axis=-1)
    return odds / odds.sum(-1, keepdims=True)


def best_threshold(p: NDArray[Any], truth: NDArray[Any], metric: str) -> float:
    """Of a grid the threshold with the highest score; of equal ones that in the middle."""
    scores = np.array([get_mask_metric(metric)(truth, at_threshold(p, t), n_classes=2) for t in GRID])
    best = np.flatnonzero(scores == scores.max())
    return float(GRID[best[len(best) // 2]])
