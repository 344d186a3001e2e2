"""What files' numbers are."""

import numpy as np
import pytest

from enstruct.data.numbers import MANY, is_number, overflows, to_numbers, whole


@pytest.mark.parametrize("text", ["1", "-2.5", "+.5", "5.", "1e-400", "-3E2", "007", " 4 "])
def test_numbers(text):
    assert is_number(text)
    assert to_numbers(["nan", text])[1] is None
    assert to_numbers([text])[0].tolist() == [float(text)]


@pytest.mark.parametrize("text", ["", "x", "1_000", "1e400", "-inf", "Infinity", "9" * 5000, "٣", "²", "0x10", "1,5"])
def test_what_is_none(text):
    assert not is_number(text)
    assert to_numbers(["1", "nan", text, text])[1] == 2


def test_what_is_too_large():
    assert [text for text in ("1e400", "-inf", "9" * 5000, "1", "x", "nan") if overflows(text)] == ["1e400", "-inf", "9" * 5000]


def test_whole_numbers_of_any_length():
    assert [whole(text) for text in ("0", "042", "9" * 18, "9" * 5000)] == [0, 42, 10**18 - 1, MANY]
    assert [whole(text) for text in ("", "-1", "+1", "1.0", "1_0", "²", "٣", " 1")] == [None] * 8


def test_many_are_read_as_one_by_one():
    texts = [repr(x) for x in np.random.default_rng(0).standard_normal(100).tolist()]
    assert to_numbers(texts)[0].tolist() == [float(text) for text in texts]
    assert to_numbers([])[0].shape == (0,)
