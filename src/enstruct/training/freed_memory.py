"""Memory that a training lets go of, kept for what it asks for next."""

from __future__ import annotations

import torch

LARGEST = 2**25 - 2**16
"""Bytes of a block: the largest that glibc learns from (its mallopt manual, M_MMAP_THRESHOLD), less what it adds to one."""


def keep_freed_memory() -> None:
    """Let glibc's malloc keep what is freed, up to 64 MiB, instead of handing it back to the system at once.

    An update frees a network's gradients and asks for as much again; pages that went back meanwhile are faulted in anew, one by
    one, which takes a sixth of an update of seal-nce on bibtex in batches of 256. glibc hands back what exceeds twice the largest
    block that was freed so far, and blocks larger than that one always. So the largest block that it learns from is freed here;
    nothing is written to it, so that it never takes memory. Of other allocators this asks nothing.
    """
    torch.empty(LARGEST, dtype=torch.uint8)  # and let go
