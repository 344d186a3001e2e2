"""Memory that a training lets go of, kept for what it asks for next."""

from __future__ import annotations

import torch

LARGEST = 2**25 - 2**16
"""Bytes of a block: the largest that glibc learns from (its mallopt manual, M_MMAP_THRESHOLD), less what it adds to one."""


def keep_freed_memory() -> None:
    """Let glibc's malloc keep blocks that are freed, for as long as the process lives, instead of handing them back at once.

    An update frees a network's gradients and asks for as much again; pages that went back meanwhile are faulted in anew, one by
    one, which takes a good part of an update in large batches. glibc hands back blocks larger than the
    largest that was freed so far, and of its heap what is free at the top beyond twice as much. So the largest block that it
    learns from, of 32 MiB, is freed here, unwritten. Holes within the heap it never hands back: a process that frees many large
    blocks in between may hold that much more. Of other allocators this asks nothing.
    """
    torch.empty(LARGEST, dtype=torch.uint8, device="cpu")  # and let go
