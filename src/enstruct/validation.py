"""What parameters that a caller gives may be, said in one way wherever they are taken.

A :data:`Check` looks at one parameter, by name. Estimators declare one for each of theirs
(:mod:`enstruct.estimators.parameters`). A bool is no number here, nor is what single precision cannot hold.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sized
from numbers import Integral, Real
from typing import Any, cast

import numpy as np

from enstruct.errors import ConfigError, DataError, shown, unknown_name

Check = Callable[[str, Any], None]
"""(the parameter's name, its value); raises ConfigError."""
LARGEST, LARGEST_WHOLE = float(np.finfo(np.float32).max), 2**63 - 1


# -- numbers ------------------------------------------------------------------------------------------


def is_whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def number(name: str, value: Any) -> None:
    """ConfigError for what is no finite number."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Real):
        raise ConfigError(f"{name} must be a number, not {shown(value)}.")
    if not -LARGEST <= cast(float, value) <= LARGEST or (is_whole(value) and abs(int(cast(int, value))) > LARGEST_WHOLE):
        raise ConfigError(f"{name} must be a finite number of usual size, not {shown(value)}.")


def _number_that(accepts: Callable[[Any], bool], wanted: str) -> Check:
    """A finite number that ``accepts`` takes, ``wanted`` in words."""

    def check(name: str, value: Any) -> None:
        number(name, value)
        if not accepts(value):
            raise ConfigError(f"{name} must {wanted}, not {shown(value)}.")

    return check


positive = _number_that(lambda value: value > 0, "be positive")  # another rate would turn gradients round, or do nothing
not_negative = _number_that(lambda value: value >= 0, "be at least 0")
share = _number_that(lambda value: 0 < value < 1, "lie between 0 and 1")
dropout = _number_that(lambda value: 0 <= value < 1, "be a number from 0 to below 1")


def positive_or_infinite(name: str, value: Any) -> None:
    """For bounds, which infinity lifts."""
    if not (isinstance(value, Real) and value == np.inf):
        positive(name, value)


def whole(least: int, most: int | None = None) -> Check:
    """A whole number from ``least`` to ``most``."""
    wanted = f"from {least} on" if most is None else f"from {least} to {most}"

    def check(name: str, value: Any) -> None:
        if not is_whole(value) or value < least or (most is not None and value > most):
            raise ConfigError(f"{name} must be a whole number {wanted}, not {shown(value)}.")

    return check


def count(name: str, value: Any) -> None:
    """ConfigError for what is no whole number from 1 on; a float may hold one, as 32.0 or what a search draws."""
    positive(name, value)
    if value != int(value):
        raise ConfigError(f"{name} must be a whole number, not {shown(value)}.")


def seed(name: str, value: Any) -> None:
    """ConfigError for what is neither None, nor a seed of numpy's, nor a generator of its old kind."""
    if value is None or value is np.random or isinstance(value, np.random.RandomState):
        return
    if not is_whole(value) or not 0 <= value < 2**32:
        raise ConfigError(f"{name} must be None, a whole number from 0 to {2**32 - 1} or a RandomState, not {shown(value)}.")


# -- names, switches, objects -------------------------------------------------------------------------


def one_of(kind: str, names: Collection[str]) -> Check:
    """One of these names of a ``kind``."""

    def check(name: str, value: Any) -> None:
        if not isinstance(value, str):
            raise ConfigError(f"{name} must be the name of a {kind}, not {shown(value)}.")
        if value not in names:
            raise unknown_name(kind, value, names)

    return check


def switch(*words: str) -> Check:
    """True or False, or one of the words."""
    wanted = ", ".join(["True", "False", *map(repr, words)])

    def check(name: str, value: Any) -> None:
        if not (isinstance(value, (bool, np.bool_)) or (isinstance(value, str) and value in words)):
            raise ConfigError(f"{name} must be one of {wanted}, not {shown(value)}.")

    return check


def satisfying(accepts: Callable[[Any], bool], wanted: str) -> Check:
    """What ``accepts`` it, ``wanted`` in words."""

    def check(name: str, value: Any) -> None:
        if not accepts(value):
            raise ConfigError(f"{name} must be {wanted}, not {shown(value)}.")

    return check


def optional(check: Check) -> Check:
    """That, or None."""
    return lambda name, value: None if value is None else check(name, value)


def word_or(word: str, check: Check) -> Check:
    """That, or the word."""
    return lambda name, value: None if isinstance(value, str) and value == word else check(name, value)


def or_object(check: Check, accepts: Callable[[Any], bool]) -> Check:
    """A name that passes the check, or the object that it stands for."""
    return lambda name, value: None if accepts(value) else check(name, value)


# -- data ---------------------------------------------------------------------------------------------


def check_series(what: str, values: Any, sized: bool = True) -> None:
    """DataError for what holds nothing to go through one by one."""
    if not isinstance(values, Iterable) or (sized and not isinstance(values, Sized)) or getattr(values, "ndim", 1) == 0:
        raise DataError(f"{what} must be a list, not {shown(values)}.")


# -- several at once ----------------------------------------------------------------------------------


def check_rates(**values: Any) -> None:
    """ConfigError for one that is there and not positive."""
    for name, value in values.items():
        optional(positive)(name, value)


def check_whole(least: int, **values: Any) -> None:
    """ConfigError for one that is no whole number from ``least`` on."""
    for name, value in values.items():
        whole(least)(name, value)


def both_or_neither(**values: Any) -> bool:
    """Whether two parameters are given. ConfigError for one without the other."""
    there = [value is not None for value in values.values()]
    if any(there) and not all(there):
        raise ConfigError(f"Pass both {' and '.join(values)}, or neither.")
    return all(there)
