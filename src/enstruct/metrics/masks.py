"""Metrics of masks, a row being an image: truth and prediction are class numbers (images, height, width), of ``n_classes``.

    iou          mean over images of  I / U          (1 where both are empty; images without a known pixel are left out)
    pooled-iou   sum of I over images / sum of U     (large objects count more)
    accuracy     correct pixels / known pixels

I and U count the pixels of a class in both and in either mask. With two classes they are those of the second, the object's; with
more an image's IoU is the mean over the classes that either mask has, and the pooled one sums I and U over classes. Pixels whose
true class is -1 are ignored everywhere. :func:`class_iou` is the pooled IoU class by class.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from enstruct.errors import DataError
from enstruct.metrics.base import Counts, Metric, named

Numbers = NDArray[np.integer]


def iou_counts(truth: Numbers, predicted: Numbers, n_classes: int) -> Counts:
    """The IoU of each image, over 1; of an image without a known pixel 0 over 0."""
    shared, union = overlaps(truth, predicted, n_classes)
    known = (truth >= 0).any((1, 2)).astype(np.float64)
    there = union > 0
    ratios = np.divide(shared, union, out=np.zeros_like(shared), where=there)
    counted = there.sum(1)
    score = np.where(counted > 0, ratios.sum(1) / np.maximum(counted, 1), 1.0)
    return Counts.of(score * known, known)


def pooled_counts(truth: Numbers, predicted: Numbers, n_classes: int) -> Counts:
    """I over U, each summed over classes."""
    shared, union = overlaps(truth, predicted, n_classes)
    return Counts.of(shared.sum(1), union.sum(1))


def accuracy_counts(truth: Numbers, predicted: Numbers, n_classes: int) -> Counts:
    """Correct pixels, over known ones."""
    _check(truth, predicted)
    known = truth >= 0
    right = (truth == predicted) & known
    return Counts.of(right.sum((1, 2)), known.sum((1, 2)))


def overlaps(truth: Numbers, predicted: Numbers, n_classes: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """I and U, each (images, classes that count)."""
    _check(truth, predicted)
    known = truth >= 0
    counted = range(1, 2) if n_classes == 2 else range(n_classes)
    pairs = [((truth == k), (predicted == k) & known) for k in counted]
    shared = [(t & p).sum((1, 2)) for t, p in pairs]
    union = [(t | p).sum((1, 2)) for t, p in pairs]
    return np.stack(shared, axis=1).astype(np.float64), np.stack(union, axis=1).astype(np.float64)


def class_iou(truth: Numbers, predicted: Numbers, n_classes: int) -> NDArray[np.float64]:
    """(classes that count,) pooled IoU of each class; NaN for a class that is nowhere."""
    shared, union = (counts.sum(0) for counts in overlaps(truth, predicted, n_classes))
    return np.divide(shared, union, out=np.full_like(shared, np.nan), where=union > 0)


MASK_METRICS: dict[str, Metric] = {
    "iou": Metric(iou_counts),
    "pooled-iou": Metric(pooled_counts),
    "accuracy": Metric(accuracy_counts),
}


def get_mask_metric(name: str) -> Metric:
    """The one of ``MASK_METRICS`` called so; ConfigError names the nearest."""
    return named("mask metric", name, MASK_METRICS)


def _check(truth: Numbers, predicted: Numbers) -> None:
    if truth.shape != predicted.shape or truth.ndim != 3:
        raise DataError(f"True and predicted masks must both be (images, height, width): {truth.shape} and {predicted.shape}.")
