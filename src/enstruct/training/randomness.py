"""Drawing random numbers without disturbing the caller's."""

from __future__ import annotations

from contextlib import AbstractContextManager

import torch
from torch import Tensor

States = dict[str, Tensor]
"""Of the generators, "random_state" of the CPU and "random_state_cuda" of an accelerator."""


def forked(device: torch.device | str) -> AbstractContextManager[None]:
    """A block after which the random states of the CPU and of ``device`` are what they were before it."""
    device = torch.device(device)
    return torch.random.fork_rng(devices=[device] if device.type == "cuda" else [])


def states(device: torch.device | str) -> States:
    found = {"random_state": torch.get_rng_state()}
    if torch.device(device).type == "cuda":
        found["random_state_cuda"] = torch.cuda.get_rng_state(device)
    return found


def set_states(found: States, device: torch.device | str) -> None:
    torch.set_rng_state(found["random_state"])
    if "random_state_cuda" in found:
        torch.cuda.set_rng_state(found["random_state_cuda"], device)
