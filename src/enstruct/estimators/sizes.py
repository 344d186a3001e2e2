"""Refusals of what would fill the memory, before any of it is allocated.

A slip of the pen in a width, a depth or a size would end the process without a word. The limit is beyond what serves anybody on
one machine, and no judgement of how much memory there is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, TypeVar

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from enstruct.errors import ConfigError

Module = TypeVar("Module", bound=nn.Module)
MOST_BYTES = 2**31
"""Of a network's weights, which training takes four times and more, and of one array that a batch passes through."""
BYTES = 4
"""Of a number in single precision."""
MAKERS = (torch.empty, torch.zeros, torch.ones, torch.full, torch.rand, torch.randn)


def check_bytes(what: str, numbers: int, smaller: str) -> None:
    """ConfigError for more of them, in single precision, than ``MOST_BYTES``. ``smaller``: the parameters to blame."""
    if numbers * BYTES > MOST_BYTES:
        raise ConfigError(
            f"{what} would take more than the {MOST_BYTES // 2**30} GiB of memory that are allowed: make {smaller} smaller."
        )


def bounded(make: Callable[[], Module], smaller: str) -> Module:
    """What ``make`` makes. ConfigError, before any memory is taken, where its weights come to more than ``MOST_BYTES``."""
    with torch.device("meta"), _Counted(smaller):  # without numbers, so that no random ones are drawn either
        make()
    return make()


class _Counted(TorchFunctionMode):
    """Adds up what torch is asked for, so that no network's formula has to be known here."""

    def __init__(self, smaller: str) -> None:
        super().__init__()
        self._smaller, self._numbers = smaller, 0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        named = kwargs or {}
        if func in MAKERS:
            size = named.get("size", args[0] if args and isinstance(args[0], Sequence) else args)
            self._numbers += prod(map(int, size))
            check_bytes("The weights of the network", self._numbers, self._smaller)
        return func(*args, **named)
