"""What the benchmarks measure a piece of work by: seconds, FLOPs of its matrix products, the machine's own rate of them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile

PRODUCT = 1024
"""Rows and columns of the matrices whose product gives the rate that shares are of."""
PRODUCTS = ("aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm")
Work = Callable[[], Any]


def seconds(work: Work, repeats: int, warm: int = 1) -> float:
    """Median of so many, after some that do not count."""
    for _ in range(warm):
        work()
    taken = []
    for _ in range(repeats):
        begin = time.perf_counter()
        work()
        taken.append(time.perf_counter() - begin)
    return sorted(taken)[len(taken) // 2]


def flops(work: Work) -> float:
    """Of the dense products that are made, a multiplication and an addition counted as two; torch's profiler counts them, since
    its FlopCounterMode cannot follow ``autograd.grad``."""
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True, with_flops=True) as profiled:
        work()
    return float(sum(event.flops for event in profiled.events() if event.name in PRODUCTS))


def matmul_rate() -> float:
    """FLOP a second of a product of two square matrices."""
    a, b = torch.randn(2, PRODUCT, PRODUCT)
    return 2 * PRODUCT**3 / seconds(lambda: a @ b, 15)
