"""Non-linearities by name; networks keep the name, so that they can be copied and pickled."""

from __future__ import annotations

from collections.abc import Callable

import torch.nn.functional as F
from torch import Tensor

from enstruct.errors import unknown_name

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "softplus": F.softplus,
    "relu": F.relu,
    "hardtanh": F.hardtanh,
    "identity": lambda x: x,
}


def check_activation(name: str) -> None:
    """ConfigError for one that is unknown."""
    if name not in ACTIVATIONS:
        raise unknown_name("activation", name, ACTIVATIONS)
