"""What an accelerator need not be waited for: copies to it, and numbers that are read later.

A CUDA device works through a queue. Copying to it from ordinary memory, and reading a number from it, make the processor wait
until the queue is empty; between two steps of training neither is needed. On a processor all of this changes nothing.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn


def moved(tensor: Tensor, device: torch.device | str, dtype: torch.dtype | None = None) -> Tensor:
    """The tensor of a processor on ``device``, as ``dtype``: to CUDA from pinned memory, which it reads by itself."""
    tensor = tensor if dtype is None else tensor.to(dtype)
    if torch.device(device).type != "cuda" or tensor.is_cuda:
        return tensor.to(device)
    return tensor.pin_memory().to(device, non_blocking=True)


def number(loss: Tensor) -> float | Tensor:
    """A loss () as a float; of CUDA as it is, without its graph, to be read when many have been added up."""
    return loss.detach().double() if loss.is_cuda else float(loss.detach())


def bring(network: nn.Module | None, device: torch.device) -> None:
    """Move a network whose weights lie on another device."""
    first = None if network is None else next(network.parameters(), next(network.buffers(), None))
    if network is not None and first is not None and _elsewhere(first.device, device):
        network.to(device)


def _elsewhere(place: torch.device, device: torch.device) -> bool:
    """CUDA without a number is the present one; of other kinds there is one."""
    number = torch.cuda.current_device() if device.type == "cuda" and device.index is None else device.index
    return place.type != device.type or number not in (None, place.index)
