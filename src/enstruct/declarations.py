"""Declarations made of dataclasses, as a method is, told entry by entry: what tells one run's from another's."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any


def described(declaration: Any, prefix: str = "") -> dict[str, Any]:
    """The entries of a declaration made of dataclasses, as a row is: "predictor_loss.energy_weight"; functions by their names."""
    entries: dict[str, Any] = {f"{prefix}class": type(declaration).__name__}
    for entry in fields(declaration):
        value = getattr(declaration, entry.name)
        if is_dataclass(value):
            entries |= described(value, f"{prefix}{entry.name}.")
        else:
            entries[prefix + entry.name] = value if isinstance(value, int | float) else getattr(value, "__name__", str(value))
    return entries
