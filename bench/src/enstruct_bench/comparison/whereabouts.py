"""What decides whether figures were made in one place, and so may stand in one table."""

from __future__ import annotations

from typing import Any

from enstruct_bench.comparison.provenance import FORMER_PROCESSOR

Where = tuple[str, ...]
SAME = ("enstruct", "torch", "scikit-learn", "numpy", "machine")
"""What runs must share to stand in one table, since figures depend on it; and the processor, named where it is another than that
of all runs from before it was recorded, an accelerator behind it. The number of threads is recorded alone: but for what is done
within minutes, figures do not depend on it."""


def whereabouts(env: dict[str, Any]) -> Where:
    """Of an environment, what decides whether runs stand in one table."""
    processor = env.get("processor", FORMER_PROCESSOR)
    if "accelerator" in env:
        processor = f"{processor}, {env['accelerator']}"
    return (*(str(env.get(name)) for name in SAME), *(() if processor == FORMER_PROCESSOR else (f"processor {processor}",)))


def parts_of(where: Where) -> dict[str, str]:
    """By their names, the processor always among them."""
    processor = " ".join(where[len(SAME) :]).removeprefix("processor ")
    return {**dict(zip(SAME, where, strict=False)), "processor": processor or FORMER_PROCESSOR}
