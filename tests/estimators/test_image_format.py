"""The user's images and masks as training sees them, and back."""

import numpy as np
import pytest

from enstruct.errors import ConfigError, DataError
from enstruct.estimators import image_format
from enstruct.estimators.image_format import ImageFormat, MaskFormat, as_images, as_masks, resize

RNG = np.random.default_rng(0)


def test_channels_are_standardised_and_bytes_are_shares():
    images = as_images(RNG.integers(256, size=(4, 6, 5, 3), dtype=np.uint8))
    found = ImageFormat.fit(images, None).encode(images)
    assert found.shape == (4, 6, 5, 3)
    assert np.allclose(found.reshape(-1, 3).mean(0), 0, atol=1e-5)
    assert np.allclose(found.reshape(-1, 3).std(0), 1, atol=1e-5)
    shares = [image / 255 for image in images]
    assert np.allclose(ImageFormat.fit(shares, None).encode(shares), found, atol=1e-4)


def test_a_constant_channel_does_no_harm():
    images = as_images(np.full((2, 3, 3), 7, dtype=np.uint8))
    assert (ImageFormat.fit(images, None).encode(images) == 0).all()


def test_sizes():
    images = as_images([np.zeros((4, 6)), np.zeros((5, 6))])
    with pytest.raises(DataError, match=r"2 different sizes \(4x6, 5x6\).*size="):
        ImageFormat.fit(images, None).encode(images)
    assert ImageFormat.fit(images, (8, 8)).encode(images).shape == (2, 8, 8, 1)
    giant = as_images([np.zeros((1000, 1000), dtype=np.uint8)])
    with pytest.raises(DataError, match="1000x1000"):
        ImageFormat.fit(giant, None)
    assert ImageFormat.fit(giant, (16, 16)).encode(giant).shape == (1, 16, 16, 1)


def test_resizing_keeps_what_it_shrinks():
    grid = RNG.random((32, 32, 2))
    small = resize(grid, (8, 8))
    assert small.shape == (8, 8, 2)
    assert np.allclose(small.mean((0, 1)), grid.mean((0, 1)), atol=0.02)
    assert np.array_equal(resize(grid, (32, 32)), grid.astype(np.float32))


@pytest.mark.parametrize(
    ("images", "what"),
    [
        ([], "no images"),
        ([np.zeros(3)], "must be"),
        ([np.zeros((0, 3))], "must be"),
        ([np.array([["a"]])], "must be"),
        ([np.full((2, 2), np.nan)], "not finite"),
        ([np.zeros((3, 8, 8))], "channels seem to come first"),
    ],
)
def test_what_is_no_image(images, what):
    with pytest.raises(DataError, match=what):
        as_images(images)


def test_channels_must_agree():
    with pytest.raises(DataError, match="same number of channels"):
        ImageFormat.fit(as_images([np.zeros((4, 4)), np.zeros((4, 4, 3))]), None)
    with pytest.raises(DataError, match="trained on 1"):
        ImageFormat.fit(as_images([np.zeros((4, 4))]), None).encode(as_images([np.zeros((4, 4, 3))]))


def test_masks_by_value_and_back():
    masks = [np.array([[0, 255], [255, 0]])]
    form = MaskFormat.fit(masks, None, None, None)
    assert form.classes == (0, 255)
    assert form.encode(masks).tolist() == [[[0, 1], [1, 0]]]
    assert np.array_equal(form.decode(form.encode(masks)[0]), masks[0])
    assert np.array_equal(form.numbers(masks[0]), form.encode(masks)[0])
    with pytest.raises(DataError, match="Mask 0 holds the value 7"):
        form.encode([np.array([[7]])])
    unordered = MaskFormat.fit(masks, [255, 0], None, None)
    assert unordered.encode(masks).tolist() == [[[1, 0], [0, 1]]]


def test_ignored_and_grey_pixels():
    voc = [np.array([[0, 1], [2, 255]])]
    with pytest.raises(DataError, match="pass ignore=255"):
        MaskFormat.fit(voc, None, None, None)
    assert MaskFormat.fit(voc, None, 255, None).encode(voc).tolist() == [[[0, 1], [2, -1]]]
    edges = [np.array([[0, 100], [180, 255]])]
    with pytest.raises(DataError, match=r"4 values.*binarise=128"):
        MaskFormat.fit(edges, None, None, None)
    assert MaskFormat.fit(edges, None, None, 128).encode(edges).tolist() == [[[0, 0], [1, 1]]]
    with pytest.raises(ConfigError, match="leave classes"):
        MaskFormat.fit(edges, [0, 1], None, 128)
    with pytest.raises(ConfigError, match="two different"):
        MaskFormat.fit(edges, [0, 0], None, None)


def test_masks_of_one_class_teach_nothing():
    with pytest.raises(DataError, match="is 0 everywhere"):
        MaskFormat.fit([np.zeros((3, 3), dtype=int)], None, None, None)


def test_statistics_of_many_pixels_are_right():
    images = as_images([RNG.random((500, 500, 3)).astype(np.float32) for _ in range(80)])
    form = ImageFormat.fit(images, None)
    assert np.allclose(form.mean, 0.5, atol=1e-3)
    assert np.allclose(form.std, np.sqrt(1 / 12), atol=1e-3)


def test_another_scale_is_noticed():
    form = ImageFormat.fit(as_images(RNG.integers(256, size=(2, 4, 4), dtype=np.uint8)), None)
    with pytest.raises(DataError, match="one type and scale"):
        form.encode(as_images([255.0 * RNG.random((4, 4))]))
    grey = RNG.integers(1, 256, size=(2, 4, 4), dtype=np.uint8)
    with pytest.raises(DataError, match=r"int64 values.*one type and scale"):
        form.encode(as_images(grey.tolist()))  # lists are of int64
    wide = ImageFormat.fit(as_images(grey.astype(np.int64)), None)
    assert np.allclose(wide.encode(as_images(grey.tolist())), form_of(grey).encode(as_images(grey)), atol=1e-4)
    with pytest.raises(DataError, match="uint8 values"):
        wide.encode(as_images(grey))


def form_of(images):
    return ImageFormat.fit(as_images(images), None)


def test_training_masks_must_show_two_classes(caplog):
    form = MaskFormat.fit([np.array([[0, 1, 2]])], None, None, 128)
    with pytest.raises(DataError, match=r"No training mask.*largest value there is 2"):
        form.check_training([np.array([[0, 1, 2]])])
    three = MaskFormat((0, 1, 2))
    three.check_training([np.array([[0, 1]])])
    assert "no training mask has a pixel of the classes [2]" in caplog.text
    with pytest.raises(ConfigError, match="without the ignored one"):
        MaskFormat.fit([np.array([[0, 1]])], [0, 1, 255], 255, None)


def test_masks_are_resized_by_the_nearest_pixel():
    form = MaskFormat((0, 1))
    mask = np.zeros((4, 4), dtype=int)
    mask[:, 2:] = 1
    assert form.encode([mask], (2, 2)).tolist() == [[[0, 1], [0, 1]]]
    assert form.encode([mask], (8, 8)).sum() == 32


@pytest.mark.parametrize(
    ("masks", "what"),
    [
        ([], "1 images and 0 masks"),
        ([np.zeros((2, 3))], "the same rows and columns"),
        ([np.full((2, 2), 0.5)], "whole numbers"),
        ([np.full((2, 2), np.inf)], "whole numbers"),
    ],
)
def test_masks_that_do_not_fit_their_images(masks, what):
    with pytest.raises(DataError, match=what):
        as_masks(masks, as_images([np.zeros((2, 2))]))


@pytest.mark.parametrize(
    "wrong", [{"ignore": "x"}, {"ignore": 1.5}, {"ignore": True}, {"binarise": "x"}, {"binarise": [128]}, {"classes": ["a", "b"]}]
)
def test_values_that_no_mask_holds(wrong):
    with pytest.raises(ConfigError, match="must be a whole number"):
        MaskFormat.fit([np.array([[0, 1]])], **{"classes": None, "ignore": None, "binarise": None, **wrong})


def test_any_whole_number_may_be_ignored():
    mask = np.array([[0, 1, -1, 65535]])
    assert MaskFormat.fit([mask], (0, 1, 65535), -1, None).encode([mask]).tolist() == [[[0, 1, -1, 2]]]
    assert MaskFormat.fit([mask], (0, 1, -1), np.int64(65535), None).encode([mask]).tolist() == [[[0, 1, 2, -1]]]


@pytest.mark.parametrize("form", [ImageFormat((0.0,), (1.0,), None, 1.0), None])
def test_large_images_are_refused_before_they_are_converted(monkeypatch, form):
    giant = as_images([np.zeros((1000, 1000), dtype=np.uint8)])
    converted, shares = [], image_format._shares
    monkeypatch.setattr(image_format, "_shares", lambda image: converted.append(np.size(image)) or shares(image))
    with pytest.raises(DataError, match="1000x1000"):
        ImageFormat.fit(giant, None) if form is None else form.encode(giant)
    assert max(converted, default=0) <= 1


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.uint16, np.int16])
def test_shares_are_as_exact_as_by_double_precision(dtype):
    most = np.iinfo(dtype).max
    every = np.arange(np.iinfo(dtype).min, most + 1).astype(dtype).reshape(1, -1, 1)
    np.testing.assert_array_equal(image_format._shares(every), (every / most).astype(np.float32))


@pytest.mark.parametrize(
    ("mean", "std", "size"),
    [((), (), None), ((0.0,), (1.0, 1.0), None), ((0.0,), (0.0,), None), ((0.0,), (1.0,), (0, 8)), ((0.0,), (1.0,), (8, 2**31))],
)
def test_statistics_that_no_images_give_are_refused(mean, std, size):
    with pytest.raises(ValueError, match=r"which must be positive|of the size"):
        ImageFormat(mean, std, size)


@pytest.mark.parametrize(("classes", "ignore"), [((), None), ((1,), None), ((1, 1), None), ((0, 255), 255)])
def test_classes_that_no_masks_give_are_refused(classes, ignore):
    with pytest.raises(ValueError, match="not two or more different values"):
        MaskFormat(classes, ignore)
