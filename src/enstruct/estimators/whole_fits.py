"""Fits that fail leave what was fitted before."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

Fit = TypeVar("Fit", bound=Callable[..., Any])


def all_or_nothing(fit: Fit) -> Fit:
    """After an error the estimator has the attributes it had before, and no mixture of both. Weights that a warm start had begun
    to change stay changed."""

    @wraps(fit)
    def whole(self: Any, *given: Any, **named: Any) -> Any:
        before = dict(vars(self))
        try:
            return fit(self, *given, **named)
        except Exception:
            vars(self).clear()
            vars(self).update(before)
            raise

    return cast(Fit, whole)
