"""Probabilities of pixels under boxes and sizes: against the exact recursion over pixels, and against enumeration."""

import itertools

import numpy as np
import pytest
from scipy.special import expit

from enstruct.errors import DataError
from enstruct.rules.mask_marginals import sized
from enstruct.rules.masks import Connected, MaskRules, Size, Within


def exact(p, least, most):
    """(pixels,) given that least to most are there, by the distribution of how many of the others are."""
    out = np.empty(len(p))
    for i, one in enumerate(p):
        sizes = np.ones(1)
        for other in np.delete(p, i):
            sizes = np.convolve(sizes, [1 - other, other])
        n = np.arange(len(sizes))
        there = one * sizes[(n + 1 >= least) & (n + 1 <= most)].sum()
        absent = (1 - one) * sizes[(n >= least) & (n <= most)].sum()
        out[i] = there / (there + absent)
    return out


@pytest.mark.parametrize("bounds", [(0, 40), (0, 90), (70, 80), (150, 400), (95, 110), (30, 30), (300, 400)])
def test_sizes_against_the_recursion(bounds):
    p = expit(np.random.default_rng(0).normal(-1.5, 1.5, size=400))
    found, expected = sized(p, *bounds), exact(p, *bounds)
    np.testing.assert_allclose(found, expected, atol=0.012)
    assert abs(found.sum() - expected.sum()) < 1.2


def test_sizes_that_settle_everything():
    p = np.array([0.0, 0.3, 0.6, 1.0, 1.0])
    np.testing.assert_array_equal(sized(p, 0, 2), [0, 0, 0, 1, 1])
    np.testing.assert_array_equal(sized(p, 4, 5), [0, 1, 1, 1, 1])
    np.testing.assert_array_equal(sized(np.array([0.0, 1.0]), 0, 2), [0, 1])


def probabilities(shape, classes, seed=0):
    p = np.random.default_rng(seed).gamma(1.0, size=(*shape, classes))
    return p / p.sum(2, keepdims=True)


def test_boxes_against_every_mask():
    """Three classes, two of them in boxes, and a told pixel: those of independent pixels that keep the boxes."""
    p = probabilities((2, 3), 3)
    rules = MaskRules.of([Within(5, 0.0, 0.0, 1.0, 0.5), Within(9, 0.5, 0.0, 1.0, 1.0), Connected(5)], (0, 5, 9))
    told = np.full((2, 3), -1)
    told[0, 0] = 1
    p[0, 0] = [0, 1, 0]
    total, weight = np.zeros((6, 3)), 0.0
    for mask in itertools.product(range(3), repeat=6):
        numbers = np.array(mask).reshape(2, 3)
        if rules._keeps(rules.rules[0], numbers) and rules._keeps(rules.rules[1], numbers):
            one = np.prod(np.take_along_axis(p.reshape(6, 3), numbers.reshape(6, 1), 1))
            total[np.arange(6), mask] += one
            weight += one
    np.testing.assert_allclose(rules.marginals(p, told).reshape(6, 3), total / weight, atol=1e-9)


def test_a_size_moves_what_is_doubtful():
    p = probabilities((20, 20), 2, 1)
    rules = MaskRules.of(Size(1, 0.1, 0.2), (0, 1))
    found = rules.marginals(p)
    np.testing.assert_allclose(found[..., 1].ravel(), exact(p[..., 1].ravel(), 40, 80), atol=0.012)
    np.testing.assert_allclose(found.sum(2), 1)
    three = probabilities((12, 12), 3, 2)
    both = MaskRules.of([Size(1, 0.0, 0.1), Size(2, 0.5, 1.0)], (0, 1, 2)).marginals(three)
    assert both[..., 1].sum() <= 14.4
    assert both[..., 2].sum() >= 71.5
    np.testing.assert_allclose(both.sum(2), 1)


def test_what_is_told_against_them():
    p, told = probabilities((4, 4), 2), np.full((4, 4), -1)
    told[:3] = 1
    p[:3] = [0, 1]
    with pytest.raises(DataError, match="tell less"):
        MaskRules.of(Size(1, 0.0, 0.5), (0, 1)).marginals(p, told)
    with pytest.raises(DataError, match="row 0, column 0"):
        MaskRules.of(Within(1, top=0.5), (0, 1)).marginals(p, told)
    with pytest.raises(DataError, match="tell less"):
        MaskRules.of(Size(1, 0.9, 1.0), (0, 1)).marginals(
            np.where(told[..., None] == 1, [1.0, 0.0], p), np.where(told == 1, 0, -1)
        )
