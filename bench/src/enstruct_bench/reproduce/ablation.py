"""What raises F1, one change at a time: the search behind what `auto` does (docs/auto.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from enstruct.methods import ENERGY_ALONE, METHODS, PREDICTOR_ALONE, TOGETHER, Method, Stage
from enstruct_bench.reproduce.table import LabelTable


def _staged(change: str, stages: tuple[Stage, ...]) -> Method:
    return replace(METHODS["seal-nce"], name=f"seal-nce-{change}", stages=stages)


CHANGES: dict[str, dict[str, Mapping[str, object] | Method]] = {
    "cross-entropy": {"5-updates": {"method__rounds_per_batch": 5}},
    "seal-nce": {
        "5-updates": {"method__rounds_per_batch": 5},
        "3-energy-updates": {"method__energy_steps": 3},
        "5-samples": {"method__n_samples": 5},
        "100-samples": {"method__n_samples": 100},
        "weight-1": {"method__energy_weight": 1.0},
        "weight-10": {"method__energy_weight": 10.0},
        "no-warm-up": {"method__warmup": 0},
        "long-warm-up": {"method__warmup": 5000},
        "predictor-first": _staged("predictor-first", (*PREDICTOR_ALONE, *TOGETHER)),
        "energy-first": _staged("energy-first", (*PREDICTOR_ALONE, *ENERGY_ALONE, *TOGETHER)),
        "implicit": {"method__coupling": "implicit", "method__sample_gradient": "straight-through"},
    },
}
"""Row -> what is changed of it. As it is, `seal-nce` has one update a batch of either player, 20 samples, an energy whose weight
rises to 3 over 500 updates, nothing learnt before, and alternating gradients. "predictor-first": both play from where
cross-entropy ends; "energy-first": from there the energy has learnt beside the predictor as it stands, too."""
ROWS = {f"{row}-{change}": (row, altered) for row, changes in CHANGES.items() for change, altered in changes.items()}
ABLATION = LabelTable(
    "ablation",
    "What raises F1: one change at a time",
    "nowhere: the search behind what `auto` does (docs/auto.md)",
    ("bibtex", "delicious", "cal500", "yeast", "spo_FUN", "rcv1"),
    {name: {} for name in ("cross-entropy", "auto:cross-entropy", "seal-nce", *ROWS)},
    variants={name: (altered, {}) if isinstance(altered, Method) else (row, altered) for name, (row, altered) in ROWS.items()},
    changed={"auto:cross-entropy": "cross-entropy"} | {name: row for name, (row, _) in ROWS.items()},
)
