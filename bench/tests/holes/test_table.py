"""Which cells a side is given, and which it is asked for."""

import numpy as np
import pytest
from bench.tests.holes.generated import copies

from enstruct.errors import DataError
from enstruct_bench.holes.figures import asked_cells
from enstruct_bench.holes.table import half_told, split_at_random, table_with_holes, without_cells


def with_holes(seed=0):
    Y = np.random.default_rng(seed).integers(0, 2, (50, 9)).astype(float)
    Y[np.random.default_rng(seed + 1).random(Y.shape) < 0.6] = np.nan
    return Y


def test_a_larger_share_takes_the_same_cells_and_more():
    Y = np.ones((200, 30))
    before = np.zeros(Y.shape, dtype=bool)
    for share in (0.0, 0.3, 0.5, 0.7):
        gone = np.isnan(without_cells(Y, share, seed=2))
        assert gone.mean() == pytest.approx(share, abs=0.02)
        assert gone[before].all()
        before = gone
    assert (np.isnan(without_cells(Y, 0.7, seed=3)) != before).any()


def test_with_positives_alone_nothing_is_unknown_and_no_negative_is_moved():
    Y = np.random.default_rng(0).integers(0, 2, (300, 10))
    left = without_cells(Y, 0.5, 0, positives_only=True)
    assert set(np.unique(left)) == {0, 1}
    assert (left <= Y).all()
    assert left.sum() == pytest.approx(Y.sum() / 2, rel=0.1)


def test_half_of_the_observed_cells_of_a_row_are_told():
    Y = with_holes()
    known = half_told(Y, 0)
    told = ~np.isnan(known)
    assert (told.sum(1) == (~np.isnan(Y)).sum(1) // 2).all()
    assert (known[told] == Y[told]).all()
    asked = asked_cells(Y, known)
    assert not (asked & told).any()
    assert (asked | told == ~np.isnan(Y)).all()


@pytest.mark.parametrize("positives_only", [False, True])
def test_values_of_removed_cells_change_nothing(positives_only):
    data = copies(100)
    splits = split_at_random(data, 0)
    table = table_with_holes(splits, 0, 0.5, positives_only)
    told = np.concatenate([splits.train.told(), splits.validation.told()])
    gone = told != without_cells(told, 0.5, 0, positives_only)
    other = table_with_holes(split_at_random(flipped(data, gone), 0), 0, 0.5, positives_only)
    for name in ("X", "Y", "held", "X_test", "Y_test"):
        assert np.array_equal(getattr(table, name), getattr(other, name), equal_nan=True), name
    assert np.isnan(table.Y).any() != positives_only
    assert not np.isnan(table.Y_test).any()


def flipped(data, gone):
    """Other values where training and validation cells were removed."""
    parts = np.random.default_rng(0).permutation(len(data))  # as rows are split
    cut = int(0.6 * len(data)), int(0.8 * len(data))
    rows = np.concatenate([np.sort(parts[: cut[0]]), np.sort(parts[cut[0] : cut[1]])])
    Y = data.Y.toarray()
    Y[rows] = np.where(gone, 1 - Y[rows], Y[rows])
    return copies(len(data), Y)


def test_rows_and_labels_of_which_nothing_is_left_go():
    data = copies(40, np.eye(40, 4, dtype=int))  # each label has one positive row
    with pytest.raises(DataError, match="labels show both values in the training rows"):
        table_with_holes(split_at_random(data, 0), 0, 0.9)
    table = table_with_holes(split_at_random(copies(60), 0), 0, 0.8)
    assert not np.isnan(table.Y).all(1).any()
    assert len(table.X) == len(table.Y) < 48
    assert len(table.training) + len(table.held) == len(table.Y)
    assert table.held.min() == len(table.training)
