"""Optimisers by the names of torch.optim."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn

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
    an unknown name. Weights of a module within it that has an ``own_rate``, as pretrained ones have, get that: a group of theirs.
    """
    if name not in OPTIMIZERS:
        raise unknown_name("optimizer", name, OPTIMIZERS)
    cls = OPTIMIZERS[name]
    accepted = inspect.signature(cls).parameters
    if weight_decay and "weight_decay" not in accepted:
        raise ConfigError(f"The optimizer {name!r} has no weight decay; set weight_decay=0.")
    settings: dict[str, Any] = {"lr": float(rate), "weight_decay": float(weight_decay), "fused": True}
    chosen = {key: value for key, value in settings.items() if key in accepted}
    pretrained = {id(p): own for part in module.modules() if (own := getattr(part, "own_rate", None)) for p in part.parameters()}
    learning = [p for p in module.parameters() if p.requires_grad]
    groups = [{"params": [p for p in learning if id(p) not in pretrained]}]
    for own in sorted(set(pretrained.values())):
        groups.append({"params": [p for p in learning if pretrained.get(id(p)) == own], "lr": own})
    return cls([group for group in groups if group["params"]] or groups[:1], **chosen)


def give(optimizer: torch.optim.Optimizer, gradients: Iterable[Tensor | None]) -> None:
    """Every parameter its gradient, laid out in memory as the parameter is.

    Gradients by ``torch.autograd.grad`` come as they were computed, those of convolutions over pixels with channels last and of
    products with a transposed table in another order. A fused step on a processor goes through memory and would give a weight
    its neighbour's gradient without a word; on an accelerator it refuses.
    """
    for parameter, gradient in zip(learnt_by(optimizer), gradients, strict=True):
        if gradient is not None and gradient.stride() != parameter.stride():
            gradient = torch.empty_like(parameter).copy_(gradient)
        parameter.grad = gradient


def learnt_by(optimizer: torch.optim.Optimizer) -> list[Tensor]:
    """The parameters of all its groups."""
    return [p for group in optimizer.param_groups for p in group["params"]]
