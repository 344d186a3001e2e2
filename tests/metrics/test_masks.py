"""Scores of masks against sets of pixels, scikit-learn's Jaccard index, and empty or ignored pixels."""

import numpy as np
import pytest
from sklearn.metrics import jaccard_score

from enstruct.errors import ConfigError, DataError
from enstruct.metrics.masks import MASK_METRICS, class_iou, get_mask_metric


@pytest.fixture
def pairs():
    rng = np.random.default_rng(0)
    return rng.integers(3, size=(6, 5, 4)), rng.integers(3, size=(6, 5, 4))


def test_two_classes_are_the_objects_jaccard_index(pairs):
    truth, predicted = (grid == 1 for grid in pairs)
    truth, predicted = truth.astype(int), predicted.astype(int)
    per_image = [jaccard_score(t.ravel(), f.ravel()) for t, f in zip(truth, predicted, strict=True)]
    assert MASK_METRICS["iou"](truth, predicted, n_classes=2) == pytest.approx(np.mean(per_image))
    assert MASK_METRICS["pooled-iou"](truth, predicted, n_classes=2) == pytest.approx(
        jaccard_score(truth.ravel(), predicted.ravel())
    )
    assert class_iou(truth, predicted, 2) == pytest.approx([jaccard_score(truth.ravel(), predicted.ravel())])
    assert MASK_METRICS["accuracy"](truth, predicted, n_classes=2) == pytest.approx((truth == predicted).mean())


def test_more_classes_are_averaged(pairs):
    truth, predicted = pairs
    per_image = [jaccard_score(t.ravel(), f.ravel(), average="macro") for t, f in zip(truth, predicted, strict=True)]
    assert MASK_METRICS["iou"](truth, predicted, n_classes=3) == pytest.approx(np.mean(per_image))
    assert class_iou(truth, predicted, 3) == pytest.approx(jaccard_score(truth.ravel(), predicted.ravel(), average=None))


def test_empty_masks_agree_and_a_class_that_is_nowhere_has_no_score():
    empty = np.zeros((2, 3, 3), dtype=int)
    object_ = empty.copy()
    object_[1, 0, 0] = 1
    assert MASK_METRICS["iou"].counts(empty, object_, 2).above[:, 0].tolist() == [1.0, 0.0]
    assert np.isnan(class_iou(empty, empty, 2)).all()


def test_ignored_pixels_count_nowhere(pairs):
    truth, predicted = (grid.copy() for grid in pairs)
    hidden = np.random.default_rng(1).random(truth.shape) < 0.3
    truth[hidden] = -1
    for name, metric in MASK_METRICS.items():
        one = metric.counts(truth, predicted, 3)
        predicted[hidden] = (predicted[hidden] + 1) % 3
        assert np.array_equal(one, metric.counts(truth, predicted, 3)), name
    whole = np.concatenate([truth, np.full((1, *truth.shape[1:]), -1)])
    for name, metric in MASK_METRICS.items():  # nor do images without a known pixel
        counts = np.stack(metric.counts(whole, np.concatenate([predicted, predicted[:1]]), 3))[..., 0]  # (2, images)
        assert counts[:, -1].tolist() == [0, 0], name
        assert np.array_equal(counts[:, :-1], np.stack(metric.counts(truth, predicted, 3))[..., 0]), name


def test_bad_input(pairs):
    with pytest.raises(DataError, match="height"):
        MASK_METRICS["iou"](pairs[0], pairs[1][:2], n_classes=3)
    with pytest.raises(ConfigError, match="pooled-iou"):
        get_mask_metric("pool-iou")
