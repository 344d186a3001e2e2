"""In which precision an encoder multiplies: bfloat16 where that is faster, and where answers need not be the same elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import torch

PRECISIONS = ("auto", "float32", "bfloat16")
_exact: ContextVar[bool] = ContextVar("_exact", default=False)


def autocast(precision: str, device: torch.device | str, trains: bool) -> Any:
    """A block whose products of matrices are in bfloat16, or in float32 (:func:`in_bfloat16`)."""
    enabled = in_bfloat16(precision, device, trains)
    return torch.autocast(torch.device(device).type, dtype=torch.bfloat16, enabled=enabled)


@contextmanager
def exactly() -> Iterator[None]:
    """A block in which encoders compute in float32, whatever their ``precision``."""
    token = _exact.set(True)
    try:
        yield
    finally:
        _exact.reset(token)


def in_bfloat16(precision: str, device: torch.device | str, trains: bool) -> bool:
    """Of "auto" where that is faster: on an accelerator, and on a processor in passes that something learns from."""
    if _exact.get():
        return False
    if precision != "auto":
        return precision == "bfloat16"
    if torch.device(device).type == "cpu":
        has: Mapping[str, Any] = getattr(torch.cpu, "get_capabilities", dict)()  # older versions of torch do not say
        return trains and any(has.get(name, False) for name in ("avx512_bf16", "amx_bf16"))
    return torch.device(device).type == "cuda" and torch.cuda.is_bf16_supported()
