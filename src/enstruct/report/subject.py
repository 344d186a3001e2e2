"""What a report is about: a fitted model, where it lies, and what it has answered."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from enstruct.metrics import Counts


@dataclass(frozen=True)
class Subject:
    """``folder`` of the model; ``source`` of the data, as the user names it; ``trained_on``: whether training has seen these.

    counts : rule -> metric -> what each row counts under the rule; empties : metric -> the score of nothing.
    rule : the one in force, whose answers are looked at; predicted : these answers, as the task has them.
    total, numbers : how many parts the data have; which of them these are, where they were too many and some were drawn.
    clock : seconds, for what is measured; a test may have its own.
    """

    model: Any
    folder: Path
    source: str
    trained_on: bool
    rule: str
    counts: Mapping[str, Mapping[str, Counts]]
    empties: Mapping[str, float]
    predicted: Any
    seed: int = 0
    remark: str = ""
    total: int = 0
    numbers: NDArray[np.intp] | None = None
    clock: Callable[[], float] = field(default=time.perf_counter)

    def number(self, part: int) -> int:
        """Of a part, among all of the data."""
        return part if self.numbers is None else int(self.numbers[part])
