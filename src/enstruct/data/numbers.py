"""Numbers as files write them, in one way for all readers: ASCII digits, without Python's own underscores (``1_000``)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

MANY = 10**18
"""What whole numbers beyond it are read as: no count of what a file holds comes near, and Python refuses 5,000 digits."""
PLAIN = frozenset("0123456789.+-eE ")
"""What numbers in digits are written with."""


def is_number(text: str) -> bool:
    """Whether it is a number, and finite in double precision."""
    value = _number(text)
    return value is not None and math.isfinite(value)


def is_whole(text: str) -> bool:
    """Whether it is a whole number without a sign."""
    return text.isascii() and text.isdigit()


def whole(text: str) -> int | None:
    """A whole number without a sign, ``MANY`` if it has more than 18 digits; None if it is none."""
    if not is_whole(text):
        return None
    return int(text) if len(text) <= 18 else MANY


def plain_numbers(texts: Sequence[str]) -> NDArray[np.float64] | None:
    """The numbers that texts say where all say one, in digits, and none is too large; None for others. It is quick."""
    if not PLAIN.issuperset("".join(texts)):
        return None
    try:
        values = np.array([*map(float, texts)])
    except ValueError:
        return None
    return None if np.isinf(values).any() else values


def to_numbers(texts: Sequence[str]) -> tuple[NDArray[np.float64], int | None]:
    """The numbers that texts say, NaN for ``nan``, and the place of the first text that says none or one that is not finite.

    None instead of the place where all are good; else the array holds nothing of use.
    """
    together = "".join(texts)
    if together.isascii() and "_" not in together:
        try:
            values = np.array([float(text) for text in texts])
        except ValueError:
            pass
        else:
            infinite = np.isinf(values)
            return values, int(np.argmax(infinite)) if infinite.any() else None
    at = next(i for i, text in enumerate(texts) if not is_number(text) and text.strip().lower() != "nan")
    return np.zeros(0), at


def overflows(text: str) -> bool:
    """Whether it is a number, but infinite in double precision."""
    value = _number(text)
    return value is not None and math.isinf(value)


def _number(text: str) -> float | None:
    if "_" in text or not text.isascii():
        return None
    try:
        return float(text)
    except ValueError:
        return None
