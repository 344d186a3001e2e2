"""Refusals of what would fill the memory, before any of it is allocated.

A slip of the pen in a width, a depth or a size would end the process without a word. The limit is beyond what serves anybody on
one machine, and no judgement of how much memory there is.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn

from enstruct.errors import ConfigError

MOST_BYTES = 2**31
"""Of a network's weights, which training takes four times and more, and of one array that a batch passes through."""
BYTES = 4
"""Of a number in single precision."""
OF_ENERGY = "the energy (energy_network=: units=, rank=, window=) or the features' width"


def check_bytes(what: str, numbers: int, smaller: str) -> None:
    """ConfigError for more of them, in single precision, than ``MOST_BYTES``. ``smaller``: the parameters to blame."""
    if numbers * BYTES > MOST_BYTES:
        raise ConfigError(
            f"{what} would take more than the {MOST_BYTES // 2**30} GiB of memory that are allowed: make {smaller} smaller."
        )


def check_networks(build: Callable[[], tuple[nn.Module, nn.Module | None]], smaller: str) -> None:
    """ConfigError where the weights of the predictor or of the energy that ``build`` makes come to more than ``MOST_BYTES``.

    They are made without memory and without random numbers, and those that are there already do not count.
    """
    try:
        with torch.device("meta"):
            networks = build()
    except (RuntimeError, TypeError, OverflowError):  # sizes beyond torch's own whole numbers
        return check_bytes("The weights of the network", MOST_BYTES, f"{smaller}, {OF_ENERGY}")
    for network, parameters in zip(networks, (smaller, OF_ENERGY), strict=True):
        weights = () if network is None else network.parameters()
        check_bytes("The weights of the network", sum(weight.numel() for weight in weights if weight.is_meta), parameters)
