"""On which rows the runs of several seeds are tested: it says how their differences are to be drawn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

Tested = Literal["same", "folds", "splits"]
"""All on the same rows; each row once; each run on a draw of its own."""
RUNS: Mapping[Tested, str] = {"same": "seed", "folds": "fold", "splits": "split"}
"""What tells one run from another."""


def tested_rows(split: str) -> Tested:
    """Of a ``split`` of :func:`enstruct_bench.comparison.protocols.load_protocol`."""
    return "folds" if split.endswith("-fold") else "splits" if split.endswith("-split") else "same"


def tested_in(setting: Mapping[str, Any]) -> Tested:
    """Of the setting of a results file."""
    return tested_rows(str(setting.get("split", "auto")))
