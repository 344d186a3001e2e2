"""A number of a table: with its interval or deviation, and how it is printed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

KEPT = 8
"""Significant digits in files, several more than are printed."""
FORMS = frozenset({".0f", ".1f", ".2f", ",.0f", ".3f", ".4f", ".3g", ".4g"})
"""How a number may be printed, as Python's format specifications."""


@dataclass(frozen=True)
class Quantity:
    """Printed as ``47.80``, ``47.80 ±0.15`` or ``+1.23 [+0.45, +2.01]``.

    spread : the standard deviation of single runs. low, high : an interval. name, note : what stands before and after.
    """

    mean: float
    spread: float | None = None
    low: float | None = None
    high: float | None = None
    form: str = ".2f"
    name: str = ""
    note: str = ""

    def __post_init__(self) -> None:
        if self.form not in FORMS:  # a summary with it could be written and never be read
            raise ValueError(f"form is one of {', '.join(sorted(FORMS))}, not {self.form!r}.")

    def __str__(self) -> str:
        text = format(self.mean, self.form)
        if self.spread is not None:
            text += f" ±{format(self.spread, self.form)}"
        if self.low is not None and self.high is not None:
            mean, low, high = (format(value, f"+{self.form}") for value in (self.mean, self.low, self.high))
            text = f"{mean} [{low}, {high}]"
        return f"{self.name} {text}{self.note}".lstrip()

    def noted(self, note: str) -> Quantity:
        """With more after it."""
        return replace(self, note=self.note + note)

    def as_json(self) -> dict[str, Any]:
        """Its fields without those that have their defaults."""
        changed = {name: value for name, value in asdict(self).items() if name == "mean" or value != DEFAULTS[name]}
        return {name: float(f"{value:.{KEPT}g}") if isinstance(value, float) else value for name, value in changed.items()}


DEFAULTS = {**asdict(Quantity(0.0)), "mean": None}
Value = str | int | Quantity
"""What a table's cell is: a word, how many there are of something, or a quantity."""


def mean_and_deviation(percents: Sequence[float], form: str = ".2f") -> Quantity:
    """Of runs, with the standard deviation of single ones; of one run there is none."""
    return Quantity(float(np.mean(percents)), float(np.std(percents, ddof=1)) if len(percents) > 1 else None, form=form)
