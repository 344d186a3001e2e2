"""Which cells are told."""

import numpy as np
import pytest

from enstruct_bench.joint.told import SHARES, asked_loss, cell_losses, random_order, random_told, told_share


def test_shares_are_nested_and_of_the_same_number_in_every_row():
    Y = np.random.default_rng(0).integers(0, 2, (30, 8))
    order = random_order(Y.shape, seed=3)
    before = np.zeros(Y.shape, dtype=bool)
    for share in SHARES:
        known = told_share(Y, order, share)
        told = ~np.isnan(known)
        assert (told.sum(1) == 8 * share).all()
        assert (known[told] == Y[told]).all()
        assert told[before].all()
        before = told
    assert (random_order(Y.shape, seed=3) == order).all()
    assert (random_order(Y.shape, seed=4) != order).any()


def test_random_shares_are_uniform():
    shares = (~np.isnan(random_told(np.zeros((4000, 50)), np.random.default_rng(0)))).mean(1)
    assert np.quantile(shares, [0.1, 0.5, 0.9]) == pytest.approx([0.1, 0.5, 0.9], abs=0.03)


def test_losses_are_those_of_what_is_true_on_asked_cells():
    p, Y = np.array([[0.2, 0.7]]), np.array([[1, 0]])
    assert cell_losses(p, Y) == pytest.approx(-np.log([[0.2, 0.3]]))
    assert asked_loss(p, Y, np.array([[1, np.nan]])) == pytest.approx(-np.log(0.3))
    assert asked_loss(p, Y, Y) == 0
