"""Probabilities of pixels under boxes and sizes: against the exact recursion over pixels, and against enumeration."""

import itertools

import numpy as np
import pytest
from scipy.special import expit

from enstruct.errors import DataError
from enstruct.rules import mask_marginals
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
@pytest.mark.parametrize("variance", [0.0, 1e9])
def test_sizes_against_the_recursion(bounds, variance, monkeypatch):
    """By the normal approximation, and exactly."""
    monkeypatch.setattr(mask_marginals, "EXACT", variance)
    p = expit(np.random.default_rng(0).normal(-1.5, 1.5, size=400))
    found, expected = sized(p, *bounds), exact(p, *bounds)
    np.testing.assert_allclose(found, expected, atol=1e-9 if variance else 0.012)
    assert abs(found.sum() - expected.sum()) < 1.2


@pytest.mark.parametrize("bounds", [(0, 40), (0, 1), (0, 2), (1, 1), (3, 9), (0, 50), (49, 50), (25, 26)])
@pytest.mark.parametrize("p", [np.full(50, 0.02), np.full(50, 1e-5), np.linspace(1e-4, 0.9999, 50)])
def test_few_pixels_in_doubt_are_exact(bounds, p):
    np.testing.assert_allclose(sized(p, *bounds), exact(p, *bounds), atol=1e-7)


def test_pixels_that_are_as_good_as_sure_give_way():
    p = np.repeat([1.0, 0.4], [60, 40])
    assert sized(p, 0, 30).sum() == pytest.approx(30, abs=0.5)
    assert sized(1 - p, 70, 100).sum() == pytest.approx(70, abs=0.5)
    np.testing.assert_array_equal(sized(p, 0, 0), 0)
    np.testing.assert_array_equal(sized(p, 100, 100), 1)
    assert sized(p, 0, 100) is p


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
    assert both[..., 1].sum() <= 14.5
    assert both[..., 2].sum() >= 71.5
    np.testing.assert_allclose(both.sum(2), 1)


def test_what_is_told_against_them():
    p, told = probabilities((4, 4), 2), np.full((4, 4), -1)
    told[:3] = 1
    p[:3] = [0, 1]
    with pytest.raises(DataError, match="tell less"):
        MaskRules.of(Size(1, 0.0, 0.5), (0, 1)).marginals(p, told)
    with pytest.raises(DataError, match="No mask of 4 x 4"):
        MaskRules.of([Within(1, 0.4, 0.4, 0.45, 0.45), Size(1, 0.1, 1.0)], (0, 1)).marginals(probabilities((4, 4), 2))
    certain = np.zeros((2, 2, 3))
    certain[..., 2] = 1
    boxed = MaskRules.of([Within(1, 0, 0, 1, 0.5), Within(2, 0, 0, 1, 0.5)], (0, 1, 2)).marginals(certain)
    np.testing.assert_array_equal(boxed[:, 1], [[1, 0, 0]] * 2)  # what no box holds goes to classes without a rule
    with pytest.raises(DataError, match="row 0, column 0"):
        MaskRules.of(Within(1, top=0.5), (0, 1)).marginals(p, told)
    with pytest.raises(DataError, match="tell less"):
        MaskRules.of(Size(1, 0.9, 1.0), (0, 1)).marginals(
            np.where(told[..., None] == 1, [1.0, 0.0], p), np.where(told == 1, 0, -1)
        )
