"""The integer program against all masks of three by three pixels."""

import itertools

import numpy as np
import pytest
from scipy import ndimage

from enstruct.rules.mask_program import ClassOf, cheapest

SETS = np.array(list(itertools.product([False, True], repeat=9))).reshape(-1, 3, 3)


@pytest.mark.parametrize("pieces", [None, 1, 2])
@pytest.mark.parametrize("seed", range(4))
def test_one_class(seed, pieces):
    rng = np.random.default_rng(seed)
    gain, may = rng.normal(size=(3, 3)), rng.random((3, 3)) < 0.9
    told = may & (rng.random((3, 3)) < 0.2)
    one = ClassOf(gain, may, told, 2, 6, pieces)
    count = np.array([ndimage.label(some)[1] for some in SETS])
    fits = ((SETS | ~told) & (~SETS | may)).all((1, 2)) & (SETS.sum((1, 2)) >= 2) & (SETS.sum((1, 2)) <= 6)
    fits &= count <= (9 if pieces is None else pieces)
    found, certain = cheapest([one])
    assert certain
    assert (found is None) == (not fits.any())
    if found is not None:
        assert fits[(found[0] == SETS).all((1, 2))].all()
        best = (SETS[fits] * gain).sum((1, 2)).max()
        assert (found[0] * gain).sum() >= best - 1e-3 * abs(best) - 1e-9


def test_two_classes_take_no_pixel_twice():
    rng = np.random.default_rng(0)
    everywhere, nowhere = np.ones((3, 3), dtype=bool), np.zeros((3, 3), dtype=bool)
    found, _ = cheapest([ClassOf(1 + rng.random((3, 3)), everywhere, nowhere, 0, 9, 1) for _ in range(2)])
    assert not (found[0] & found[1]).any()
    assert (found[0] | found[1]).all()


def test_nothing_is_said_for_certain_where_nothing_is_there():
    everywhere, nowhere = np.ones((3, 3), dtype=bool), np.zeros((3, 3), dtype=bool)
    assert cheapest([ClassOf(np.zeros((3, 3)), everywhere, nowhere, 5, 4, None)]) == (None, True)
