"""Drawing random numbers without disturbing the caller's."""

from __future__ import annotations

from contextlib import AbstractContextManager

import torch


def forked(device: torch.device | str) -> AbstractContextManager[None]:
    """A block after which the random states of the CPU and of ``device`` are what they were before it."""
    device = torch.device(device)
    return torch.random.fork_rng(devices=[device] if device.type == "cuda" else [])
