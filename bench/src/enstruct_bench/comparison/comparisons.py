"""The comparisons that there are, and which one data ask for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from enstruct_bench.comparison.comparison import Comparison
from enstruct_bench.comparison.label_comparison import LABEL_COMPARISON
from enstruct_bench.comparison.mask_comparison import MASK_COMPARISON
from enstruct_bench.comparison.tag_comparison import TAG_COMPARISON

COMPARISONS: dict[str, Comparison] = {each.task.name: each for each in (LABEL_COMPARISON, TAG_COMPARISON, MASK_COMPARISON)}
"""By the task's name."""


def comparison_of(setting: Mapping[str, Any]) -> Comparison:
    """Of a results file, by what its setting counts: rows, sentences or images."""
    return next((each for each in COMPARISONS.values() if each.task.parts in setting), LABEL_COMPARISON)
