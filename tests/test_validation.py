"""Checks of parameters: what passes, and what is said of what does not."""

from decimal import Decimal

import numpy as np
import pytest

from enstruct import validation
from enstruct.errors import ConfigError, DataError


@pytest.mark.parametrize(
    ("check", "good", "bad"),
    [
        (validation.number, [0, -1.5, np.float32(2)], [None, True, np.True_, "1", np.nan, np.inf, 10**30, 1j, Decimal(1), [1]]),
        (validation.positive, [1, 0.1], [0, -1, True, np.nan, "x"]),
        (validation.positive_or_infinite, [1, np.inf], [-np.inf, 0, np.nan]),
        (validation.not_negative, [0, 3.5], [-1, "x"]),
        (validation.share, [0.5], [0, 1, True, None]),
        (validation.dropout, [0, 0.99], [1, -0.1, "x", False]),
        (validation.count, [1, 32.0, np.int64(3)], [0, 2.5, np.inf, True, None]),
        (validation.seed, [None, 0, 2**32 - 1, np.random, np.random.RandomState(0)], [-1, 2**32, 1.0, True, "x", [1]]),
        (validation.whole(2, 5), [2, 5, np.int8(3)], [1, 6, 3.0, True, "x", np.array([2, 3])]),
        (validation.one_of("thing", ("a", "b")), ["a"], ["c", "", None, [], {}, ["a"], np.array(["a"])]),
        (validation.switch("auto"), [True, np.False_, "auto"], [1, 0, "x", None, np.array([True, False])]),
        (validation.optional(validation.share), [None, 0.5], [2]),
        (validation.word_or("auto", validation.share), ["auto", 0.5], ["x", 2, None]),
        (validation.satisfying(callable, "a function"), [len], [3, "x"]),
    ],
)
def test_what_passes_and_what_is_named(check, good, bad):
    for value in good:
        check("width", value)
    for value in bad:
        with pytest.raises(ConfigError) as error:
            check("width", value)
        assert "width" in str(error.value) or "thing" in str(error.value)
        assert len(str(error.value)) <= 300


def test_long_values_are_shown_shortened():
    with pytest.raises(ConfigError) as error:
        validation.number("width", "x" * 10**6)
    assert len(str(error.value)) < 150


def test_series():
    for good in ([], (1,), np.zeros(3), "ab"):
        validation.check_series("rows", good)
    validation.check_series("rows", iter([1]), sized=False)
    for bad in (None, 3, iter([1]), np.array(3)):
        with pytest.raises(DataError, match="rows must be a list"):
            validation.check_series("rows", bad)


def test_several_at_once():
    validation.check_rates(first=None, second=0.5)
    validation.check_whole(1, first=1)
    with pytest.raises(ConfigError, match="second must be positive"):
        validation.check_rates(first=1, second=0)
    with pytest.raises(ConfigError, match="first must be a whole number from 1 on"):
        validation.check_whole(1, first=True)
