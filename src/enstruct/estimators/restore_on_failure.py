"""Fits that fail, or are interrupted, leave what was fitted before."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import copy_context
from functools import wraps
from typing import Any, TypeVar, cast

import torch
from torch.overrides import _pop_mode as pop_function_mode
from torch.utils._python_dispatch import _pop_mode as pop_dispatch_mode

Fit = TypeVar("Fit", bound=Callable[..., Any])


def restore_on_failure(fit: Fit) -> Fit:
    """After an error, Ctrl-C included, the estimator has the attributes that it had before the call, and no mixture of both.

    What the attributes refer to must not be changed in place: a fit that goes on with networks trains copies of them. Ctrl-C may
    fall into the very end of a block like ``torch.no_grad()``, so torch's own state is put back as well, and what such a block
    may end in then, an error for want of what it would take off, gives way to the Ctrl-C.
    """

    @wraps(fit)
    def whole(self: Any, *args: Any, **named: Any) -> Any:
        before, state = dict(vars(self)), _torch_state()
        try:
            return copy_context().run(fit, self, *args, **named)
        except BaseException as error:
            self.__dict__ = before  # in one step: a second Ctrl-C finds the one or the other
            _restore(state)
            if (interruption := _interruption(error)) is not None:
                raise interruption from None
            raise

    return cast(Fit, whole)


def _interruption(error: BaseException | None) -> KeyboardInterrupt | None:
    """The Ctrl-C on whose way out the error came up."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__context__
    return error


def _torch_state() -> tuple[bool, int, int]:
    """Of this thread: whether gradients are on, and how many modes it is in."""
    return torch.is_grad_enabled(), torch._C._len_torch_dispatch_stack(), torch._C._len_torch_function_stack()


def _restore(state: tuple[bool, int, int]) -> None:
    learning, dispatching, intercepting = state
    torch.set_grad_enabled(learning)
    while torch._C._len_torch_dispatch_stack() > dispatching:
        pop_dispatch_mode()
    while torch._C._len_torch_function_stack() > intercepting:
        pop_function_mode()
