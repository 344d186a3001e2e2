"""Which boxes and sizes leave an image: against all masks of a small one."""

import itertools

import numpy as np
import pytest

from enstruct.errors import ConfigError
from enstruct.rules.mask_areas import leave_an_image
from enstruct.rules.masks import Connected, MaskRules, Size, Within

MASKS = [np.array(m).reshape(2, 3) for m in itertools.product(range(3), repeat=6)]


def test_two_classes_that_share_a_box():
    box, whole = np.array([[True, False], [True, False]]), np.ones((2, 2), dtype=bool)
    assert leave_an_image([1, 1], [4, 4], [box, box])
    assert not leave_an_image([2, 1], [4, 4], [box, box])
    assert leave_an_image([2, 2], [2, 2], [box, whole])
    assert not leave_an_image([3, 2], [4, 4], [whole, whole])


def test_against_all_masks_whatever_is_rounded():
    rng, verdicts = np.random.default_rng(0), []
    for _ in range(40):
        several = [Size(v, *np.sort(rng.random(2)) * 0.8) for v in rng.integers(1, 3, 2)]
        for v in rng.integers(1, 3, 2):
            (top, bottom), (left, right) = np.sort(rng.random((2, 2)) * 1.6, axis=1).clip(0, 1)
            several.append(Within(v, top, left, bottom, right))
        rules = MaskRules.of(several, (0, 1, 2))
        possible = any(rules.are_kept(mask) for mask in MASKS)
        verdicts.append(possible)
        if possible:
            rules.check_possible([(2, 3)])
            continue
        with pytest.raises(ConfigError, match="No mask of 2 x 3 pixels meets") as error:
            rules.check_possible([(2, 3)])
        named = [rule for rule in several if str(rule) in str(error.value)]
        for rule in named:
            fewer = MaskRules.of([other for other in named if other is not rule], (0, 1, 2))
            assert fewer is None or any(fewer.are_kept(mask) for mask in MASKS)
    assert 4 < sum(verdicts) < 36


def test_the_message_names_the_fewest():
    rules = MaskRules.of([Connected(1), Within(1, 0, 0, 0.5, 0.5), Size(1, 0.3), Size(2, 0.2)], (0, 1, 2))
    words = "1 lies in 0 to 50% of the rows and 0 to 50% of the columns; 1 is 30 to 100% of the image. Drop or mend one."
    with pytest.raises(ConfigError, match=f"No mask of 10 x 10 pixels meets these rules together: {words}"):
        rules.check_possible([(10, 10)])
