"""Repairs of masks against all masks of three by three pixels: what can be kept is, and what is refused cannot be."""

import itertools

import numpy as np
import pytest
from scipy import ndimage

from enstruct.errors import DataError
from enstruct.rules import mask_program, masks
from enstruct.rules.masks import Connected, MaskRules, Size, Within

SIDE = 3
MASKS = np.array(list(itertools.product(range(3), repeat=SIDE**2))).reshape(-1, SIDE, SIDE)
OF_ONE = [ndimage.label(np.reshape(bits, (SIDE, SIDE)))[1] for bits in itertools.product(range(2), repeat=SIDE**2)]
PIECES = {v: np.array(OF_ONE)[(v == MASKS).reshape(len(MASKS), -1) @ (1 << np.arange(SIDE**2)[::-1])] for v in (1, 2)}
SIZES = {v: (v == MASKS).sum((1, 2)) for v in (1, 2)}


def random_rules(rng):
    for v in (1, 2):
        if rng.random() < 0.8:
            yield Connected(v, int(rng.integers(1, 3)))
        if rng.random() < 0.6:
            low, high = np.sort(rng.random(2))
            yield Size(v, low * 0.6, min(1.0, high + 0.2))
        if rng.random() < 0.4:
            (top, bottom), (left, right) = np.sort(rng.random((2, 2)) * 1.4, axis=1).clip(0, 1)
            yield Within(v, top, left, bottom, right)


def keeping(rule):
    """(masks,) of all masks; said a second time, but for boxes."""
    match rule:
        case Connected(v, pieces):
            return PIECES[v] <= pieces
        case Size(v, least, most):
            return (SIZES[v] >= least * SIDE**2 - 1e-9) & (SIZES[v] <= most * SIDE**2 + 1e-9)
        case Within(v):
            middles = (np.arange(SIDE) + 0.5) / SIDE
            inside = np.outer((rule.top <= middles) & (middles <= rule.bottom), (rule.left <= middles) & (middles <= rule.right))
            return ~((v == MASKS) & ~inside).any((1, 2))


def check(seed, n):
    """How many of n random images have a mask, and how many of those were refused."""
    rng, possible, refused = np.random.default_rng(seed), 0, 0
    for _ in range(n):
        if not (several := list(random_rules(rng))):
            continue
        told = np.where(rng.random((SIDE, SIDE)) < 0.25, rng.integers(0, 3, (SIDE, SIDE)), -1)
        p = rng.dirichlet(np.ones(3), (SIDE, SIDE))
        fits = np.all([keeping(rule) for rule in several], axis=0) & ((told == MASKS) | (told < 0)).all((1, 2))
        possible += fits.any()
        try:
            out = MaskRules.of(several, (0, 1, 2)).kept(np.where(told < 0, p.argmax(2), told), p, told)
        except DataError:
            refused += fits.any()
            continue
        assert fits[(out == MASKS).all((1, 2))].all()
    return possible, refused


def test_what_can_be_kept_is():
    possible, refused = check(0, 250)
    assert possible > 100
    assert refused == 0


def test_repairs_alone_nearly_always_do(monkeypatch):
    monkeypatch.setattr(masks, "cheapest", lambda classes, seconds: (None, False))
    possible, refused = check(1, 250)
    assert refused <= 0.01 * possible


def test_an_answer_that_is_not_certain_is_called_that(monkeypatch):
    monkeypatch.setattr(mask_program, "MOST_CELLS", 1)
    rules, told = MaskRules.of([Connected(1), Size(1, 0, 0.3)], (0, 1)), np.full((3, 3), -1)
    told[0, 0] = told[2, 2] = 1
    with pytest.raises(DataError, match="No mask was found that keeps what is told and the rules 1 is in 1 piece at most"):
        rules.kept(np.zeros((3, 3), dtype=int), np.full((3, 3, 2), 0.5), told)
