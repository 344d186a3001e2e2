"""Rows of images: whole ones and crops, and how answers for crops come together."""

import numpy as np
import pytest
import torch

from enstruct.data.images import Images, Masks
from enstruct.data.rows import Rows
from enstruct.errors import DataError
from enstruct.estimators.image_format import SHARES, crops
from enstruct.training.batches import assemble, batches, in_order, shuffled, to_batch


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X = Images.whole(rng.standard_normal((5, 8, 8, 3)).astype(np.float32))
    return Rows(X, Masks.whole(rng.integers(-1, 2, size=(5, 8, 8)), n_classes=2))


def test_a_whole_image_is_one_row(rows):
    batch = to_batch(rows.take(np.array([3, 1])))
    assert torch.equal(batch.x, torch.from_numpy(rows.X.grids[[3, 1]]))
    assert batch.y.shape == (2, 8, 8, 2)
    assert torch.equal(batch.y.sum(-1), torch.from_numpy(rows.Y.grids[[3, 1]] >= 0).float())
    assert batch.mask is None


def test_crops_of_pixels_masks_and_known_pixels_lie_in_the_same_place(rows):
    known = rows.Y.grids >= 0
    X = Images.whole(rows.X.grids, known=known).cropped((5, 4), [(0, 0), (3, 2)])
    Y = rows.Y.cropped((5, 4), [(0, 0), (3, 2)])
    assert X.shape == (10, 5, 4)
    assert Y.shape == (10, 2)  # as label sets: rows and classes
    batch = to_batch(Rows(X, Y).take(np.array([7])))
    assert torch.equal(batch.x[0], torch.from_numpy(rows.X.grids[3, 3:8, 2:6]))
    assert torch.equal(batch.y[0, ..., 1], torch.from_numpy(rows.Y.grids[3, 3:8, 2:6] == 1).float())
    assert torch.equal(batch.mask[0, ..., 0], torch.from_numpy(known[3, 3:8, 2:6]).float())


def test_an_epoch_takes_each_image_once_at_different_places(rows):
    X = rows.X.cropped((6, 6), [(i, j) for i in range(3) for j in range(3)])
    seen = set()
    for _ in range(40):
        order = np.concatenate(shuffled(X, 2))
        assert sorted(X.places[order, 0]) == [0, 1, 2, 3, 4]
        seen |= {tuple(place) for place in X.places[order]}
    assert len(seen) == 45


def test_answers_for_crops_are_averaged_over_those_that_show_a_pixel(rows):
    X = rows.X.cropped((5, 5), [(0, 0), (3, 3), (0, 3), (3, 0)])
    parts = [X[index].patches() for index in in_order(X, 3)]
    assert np.allclose(assemble(X, parts), X.grids, atol=1e-6)  # equal values average to themselves
    values = np.arange(20.0)[:, None, None, None] * np.ones((20, 5, 5, 1))
    averages = assemble(X, [values])
    assert averages[0, 0, 0, 0] == 0
    assert averages[0, 4, 4, 0] == pytest.approx(1.5)  # the mean of 0, 1, 2 and 3
    assert averages[1, 7, 7, 0] == 5


def test_mirrored_rows_exchange_left_and_right_of_pixels_and_masks_alike(rows):
    X, Y = (part.cropped((5, 4), [(0, 0), (3, 2)]).mirrored() for part in (rows.X, rows.Y))
    assert X.shape == (20, 5, 4)
    batch = to_batch(Rows(X, Y).take(np.array([7, 17])))
    assert torch.equal(batch.x[1], torch.from_numpy(rows.X.grids[3, 3:8, 2:6].copy()).flip(1))
    assert torch.equal(batch.x[1], batch.x[0].flip(1))
    assert torch.equal(batch.y[1], batch.y[0].flip(1))
    whole = rows.X.mirrored()
    assert np.allclose(assemble(whole, [whole.patches()]), rows.X.grids, atol=1e-6)  # mirrored back, and averaged
    assert len(np.concatenate(shuffled(whole, 2))) == 5  # an image once an epoch


def test_batches_hold_few_large_images():
    X = Images.whole(np.zeros((5, 300, 300, 1), dtype=np.float32))
    assert [len(index) for index in in_order(X)] == [1] * 5
    assert sum(len(b.y) for b in batches(Rows(X, Masks.whole(np.zeros((5, 300, 300), dtype=int))), 256)) == 5


def test_the_published_crops():
    size, offsets = crops((32, 32), 24, SHARES)
    assert size == (24, 24)
    assert sorted({top for top, _ in offsets}) == [0, 2, 3, 4, 6, 8]
    assert len(offsets) == 36
    assert len(crops((32, 32), 24, None)[1]) == 81
    assert crops((24, 24), 24, SHARES)[1] == [(0, 0)]
    with pytest.raises(DataError, match="smaller"):
        crops((20, 32), 24, SHARES)
    with pytest.raises(DataError, match="five times"):
        crops((200, 32), 24, SHARES)
