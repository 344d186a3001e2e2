"""Weights of rows: in proportion, of sentences, of images and their crops."""

import numpy as np
import pytest

from enstruct.errors import DataError
from enstruct.estimators.image_format import SHARES, ImageFormat, MaskFormat, crops, image_rows, pictures
from enstruct.estimators.label_rows import proportional, row_weights
from enstruct.estimators.tag_format import TagFormat, tagged, tagged_rows
from enstruct.estimators.token_format import TokenFormat

RNG = np.random.default_rng(0)
IMAGES, MASKS = RNG.random((4, 6, 6)), RNG.integers(2, size=(4, 6, 6))


def test_weights_average_one_and_equal_ones_are_none():
    assert np.allclose(proportional([1, 3]), [0.5, 1.5])
    assert proportional([2.0, 2.0, 2.0]) is None


def test_bad_weights_are_named():
    for weight, message in ([[1, -1], "[Nn]egative"], [[1, np.inf], "inf"], [[0, 0], "zero"], [[1], "shape|samples"]):
        with pytest.raises(DataError, match=message):
            row_weights(weight, [[0], [1]])


def test_sentences_keep_their_weights_and_leave_with_weight_zero_or_without_a_tag():
    sentences, tags = [["a"], ["b", "c"], ["d"], ["e"]], [["X"], ["Y", None], [None], ["X"]]
    pairs = tagged(sentences, tags, [1.0, 3.0, 5.0, 0.0])
    assert [(pair.tokens, pair.weight) for pair in pairs] == [(["a"], 1.0), (["b", "c"], 3.0)]
    formats = TokenFormat().fit(sentences), TagFormat.fit(tags, None)
    assert np.allclose(tagged_rows(pairs, *formats).weight, [0.5, 1.5])
    assert tagged_rows(tagged(sentences, tags), *formats).weight is None


def test_crops_have_the_weight_of_their_image():
    given = pictures(IMAGES, MASKS, [1.0, 0.0, 2.0, 3.0])
    assert [len(part) for part in given] == [3, 3, 3]  # one has no weight
    formats = ImageFormat.fit(given.images, None), MaskFormat.fit(given.masks, None, None, None)
    whole = image_rows(given, *formats, None, None)
    assert np.allclose(whole.weight, [0.5, 1.0, 1.5])
    cut = image_rows(given, *formats, 4, SHARES)
    n_crops = len(crops((6, 6), 4, SHARES)[1])
    assert np.allclose(cut.weight, np.repeat(whole.weight, n_crops))
    assert image_rows(pictures(IMAGES, MASKS), *formats, 4, SHARES).weight is None
