"""Fits that fail, or are interrupted, leave what was fitted before."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

Fit = TypeVar("Fit", bound=Callable[..., Any])


def all_or_nothing(fit: Fit) -> Fit:
    """After an error, Ctrl-C included, the estimator has the attributes that it had before the call, and no mixture of both.

    What the attributes refer to must not be changed in place: a fit that goes on with networks trains copies of them.
    """

    @wraps(fit)
    def whole(self: Any, *given: Any, **named: Any) -> Any:
        before = dict(vars(self))
        try:
            return fit(self, *given, **named)
        except BaseException:
            self.__dict__ = before  # in one step: a second Ctrl-C finds the one or the other
            raise

    return cast(Fit, whole)
