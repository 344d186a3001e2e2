"""Views of images: masks move as pixels do, what lies beyond an image is not known, and light leaves masks alone."""

import numpy as np
import pytest
import torch

from enstruct.data.images import Images, Masks
from enstruct.data.rows import Rows
from enstruct.data.synthetic import ellipses
from enstruct.randomness import seeded
from enstruct.training import augmentation
from enstruct.training.augmentation import augmented, shown
from enstruct.training.batches import to_batch


def batch_of(grids, numbers, **more):
    return to_batch(Rows(Images.whole(np.float32(grids), **more), Masks.whole(numbers, n_classes=2)))


@pytest.fixture
def still(monkeypatch):
    """No change at all, until a test asks for one."""
    for name in ("TURN", "SHIFT", "GAIN", "BRIGHTER", "TINT", "GREY"):
        monkeypatch.setattr(augmentation, name, 0.0)
    monkeypatch.setattr(augmentation, "SCALE", 1.0)
    return monkeypatch


@pytest.fixture
def pictures():
    """An image's first channel is its mask, so that both must move alike."""
    _, masks = ellipses(40, 24)
    return batch_of(np.stack([masks, 1 - masks], axis=-1), masks)


def test_without_any_change_an_image_or_its_mirror_image_is_shown(still, pictures):
    view = augmented(pictures)
    mirrored = [not torch.allclose(view.x[i], pictures.x[i], atol=1e-5) for i in range(40)]
    assert 8 < sum(mirrored) < 32
    for i, other in enumerate(mirrored):
        assert torch.allclose(view.x[i], pictures.x[i].flip(1) if other else pictures.x[i], atol=1e-5)
        assert torch.equal(view.y[i], pictures.y[i].flip(1) if other else pictures.y[i])
    assert view.mask.all()


def test_masks_move_as_pixels_do(pictures, monkeypatch):
    for name in ("GAIN", "BRIGHTER", "TINT", "GREY"):
        monkeypatch.setattr(augmentation, name, 0.0)
    view = augmented(pictures)
    inside = view.mask[..., 0] > 0
    assert 0.5 < inside.float().mean() < 1
    agree = (view.x[..., 0] > 0.5) == (view.y[..., 1] > 0.5)
    assert agree[inside].float().mean() > 0.98  # a pixel at the edge may fall to either side
    assert (view.y.sum(-1) == inside).all()
    assert not torch.equal(view.y, pictures.y)


def test_images_that_are_not_square_turn_without_being_sheared(still):
    still.setattr(augmentation, "TURN", 0.2)
    grid = np.zeros((60, 20, 60, 1))
    grid[:, 9:11, :, 0] = 1  # a bar right across, two pixels wide
    turned = augmented(batch_of(grid, np.zeros((60, 20, 60), dtype=np.int64))).x[..., 0]
    heights = torch.arange(20.0)
    left, right = (turned[:, :, columns].sum(2) for columns in (slice(20, 22), slice(38, 40)))
    slope = ((right * heights).sum(1) / right.sum(1) - (left * heights).sum(1) / left.sum(1)) / 18
    assert 0.15 < slope.abs().max() <= np.tan(0.2) + 0.01
    thickness = turned[:, :, 30].sum(1)
    assert (thickness < 2 / np.cos(0.2) + 0.15).all()


def test_scales_and_shifts_are_no_larger_than_they_say(still):
    still.setattr(augmentation, "SHIFT", 1 / 8)
    grid = np.zeros((80, 32, 32, 1))
    grid[:, 12:20, 12:20, 0] = 1
    batch = batch_of(grid, np.int64(grid[..., 0]))
    places = torch.arange(32.0)
    seen = augmented(batch).y[..., 1]
    for axis in (1, 2):
        centre = (seen.sum(3 - axis) * places).sum(1) / seen.sum((1, 2))
        assert 11 <= centre.min() < 13 < 18 < centre.max() <= 20  # four pixels to either side of 15.5
    still.setattr(augmentation, "SHIFT", 0.0)
    still.setattr(augmentation, "SCALE", 1.25)
    area = augmented(batch).y[..., 1].sum((1, 2))
    assert 36 <= area.min() < 50 < 80 < area.max() <= 100
    assert augmented(batch, shifts=False).y[:, 15:17, 15:17, 1].all()


def test_light_changes_pixels_alone(still, pictures):
    still.setattr(augmentation, "GAIN", 0.15)
    still.setattr(augmentation, "TINT", 0.12)
    view = augmented(pictures)
    assert not torch.allclose(view.x[..., 0] + view.x[..., 1], torch.ones(()), atol=0.05)
    assert torch.equal(view.y.sum((1, 2)), pictures.y.sum((1, 2)))
    still.setattr(augmentation, "GREY", 1.0)
    still.setattr(augmentation, "TINT", 0.0)
    grey = augmented(pictures).x
    assert torch.allclose(grey[..., 0], grey[..., 1])


def test_pixels_that_are_not_known_stay_so(still):
    numbers = np.zeros((6, 8, 8), dtype=np.int64)
    numbers[:, :, :4] = -1
    view = augmented(batch_of(np.zeros((6, 8, 8, 1)), numbers, known=numbers >= 0))
    assert (view.mask.sum((1, 2, 3)) == 32).all()
    assert (view.y.sum(-1, keepdim=True) == view.mask).all()


def test_views_come_from_the_fits_own_numbers_and_only_where_they_are_wanted(pictures):
    with seeded(3):
        first = augmented(pictures)
    with seeded(3):
        assert torch.equal(augmented(pictures).x, first.x)
        assert not torch.equal(augmented(pictures).x, first.x)
    plain = Images.whole(np.zeros((40, 24, 24, 2), dtype=np.float32))
    assert shown(pictures, plain) is pictures
    assert shown(pictures, np.zeros((40, 3))) is pictures
    varied = Images.whole(np.zeros((40, 24, 24, 2), dtype=np.float32), varied=True)
    assert not torch.equal(shown(pictures, varied).x, pictures.x)
