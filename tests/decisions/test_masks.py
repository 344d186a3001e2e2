"""Decisions about pixels."""

import numpy as np
import pytest

from enstruct.decisions.masks import GRID, at_threshold, best_threshold, evened, greedy


def test_greedy_takes_the_most_probable_class():
    p = np.array([[[[0.2, 0.5, 0.3], [0.6, 0.3, 0.1]]]])
    assert greedy(p).tolist() == [[[1, 0]]]


def test_the_best_threshold_is_the_best_of_the_grid_and_in_the_middle_of_equals():
    p = np.zeros((1, 2, 2, 2))
    p[0, ..., 1] = [[0.1, 0.3], [0.6, 0.9]]
    p[..., 0] = 1 - p[..., 1]
    truth = np.array([[[0, 1], [1, 1]]])
    threshold = best_threshold(p, truth, "iou")
    perfect = [t for t in GRID if (at_threshold(p, t) == truth).all()]
    assert threshold == pytest.approx(perfect[len(perfect) // 2])
    assert 0.15 < threshold < 0.25


@pytest.mark.parametrize("threshold", [0.1, 0.35, 0.5, 0.8])
def test_odds_are_even_at_the_threshold(threshold):
    p = np.linspace(0, 1, 101)
    both = evened(np.stack([1 - p, p], axis=-1), threshold)
    np.testing.assert_allclose(both.sum(-1), 1)
    np.testing.assert_allclose(evened(np.array([1 - threshold, threshold]), threshold), [0.5, 0.5])
    np.testing.assert_array_equal((both[:, 1] > 0.5)[abs(p - threshold) > 1e-6], (p > threshold)[abs(p - threshold) > 1e-6])
    odds = (both[1:-1, 1] / both[1:-1, 0]) / (p[1:-1] / (1 - p[1:-1]))
    np.testing.assert_allclose(odds, (1 - threshold) / threshold)
