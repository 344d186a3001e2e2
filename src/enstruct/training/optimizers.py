"""Optimisers by the names of torch.optim."""

from __future__ import annotations

import inspect
from typing import Any

import torch
from torch import nn

from enstruct.errors import ConfigError, unknown_name

UNFIT = {"Optimizer", "LBFGS", "SparseAdam", "Muon"}
"""Not one step a gradient, sparse gradients only, matrices only."""
OPTIMIZERS: dict[str, type[torch.optim.Optimizer]] = {
    name.lower(): cls
    for name, cls in vars(torch.optim).items()
    if inspect.isclass(cls) and issubclass(cls, torch.optim.Optimizer) and name not in UNFIT
}


def make_optimizer(name: str, module: nn.Module, rate: float, weight_decay: float = 0.0) -> torch.optim.Optimizer:
    """torch.optim's ``name`` (lower case) over what learns, fused where it can be: one pass over the parameters.

    ``weight_decay`` means what the optimiser means by it: decoupled for AdamW, an L2 penalty for Adam and SGD. ConfigError for
    an unknown name.
    """
    if name not in OPTIMIZERS:
        raise unknown_name("optimizer", name, OPTIMIZERS)
    cls = OPTIMIZERS[name]
    accepted = inspect.signature(cls).parameters
    if weight_decay and "weight_decay" not in accepted:
        raise ConfigError(f"The optimizer {name!r} has no weight decay; set weight_decay=0.")
    settings: dict[str, Any] = {"lr": rate, "weight_decay": weight_decay, "fused": True}
    chosen = {key: value for key, value in settings.items() if key in accepted}
    return cls([p for p in module.parameters() if p.requires_grad], **chosen)
