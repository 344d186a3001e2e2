"""The same objective used twice: its energy as the predictor's loss (SEAL), and its energy alone, predicting by inference.

SEAL's Figures 3-5 and its Table 2 set these beside each other. Every pair shares rows, seeds, networks, stopping rule and
decision rules, but for minimum Bayes risk, which asks samples of a predictor and is no inference on the energy;
``cross-entropy`` is the predictor without any energy.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from enstruct.data.splits import Splits
from enstruct.plots.labels import panels, save
from enstruct_bench.comparison.label_comparison import LABEL_COMPARISON
from enstruct_bench.comparison.results_file import Cell
from enstruct_bench.comparison.run import run_cell

PAIRS = {
    "margin": ("spen", "seal-margin"),
    "regression": ("dvn", "seal-regression"),
    "nce": ("nce", "seal-nce"),
}
"""Objective -> (energy alone, as a loss)."""
BASELINE = "cross-entropy"


def measure(
    splits: Splits, seeds: int, model: dict[str, Any], callbacks: Callable[[str, int], Any] | None = None
) -> dict[str, Any]:
    """Test example-F1 under the best decision rule, (seeds,) for each method; ``callbacks(method, seed)`` gives a list."""
    methods = [BASELINE, *(name for pair in PAIRS.values() for name in pair)]

    def cell(method: str, seed: int) -> Cell:
        return run_cell(LABEL_COMPARISON, method, splits, seed, model, callbacks(method, seed) if callbacks else ())

    scores = {m: [best_score(cell(m, seed).record) for seed in range(seeds)] for m in methods}
    return {"seeds": seeds, "pairs": {k: list(v) for k, v in PAIRS.items()}, "baseline": BASELINE, "f1": scores}


def best_score(record: dict[str, Any]) -> float:
    """Test example-F1 under the rule chosen on validation rows, or where that is minimum Bayes risk the best of the others."""
    chosen = record["decision"]
    if chosen == "bayes-risk":
        others = {name: score for name, score in record["validation"].items() if name != "bayes-risk"}
        chosen = max(others, key=lambda name: others[name])
    return float(record["example_f1"][chosen])


def draw(figures: dict[str, Any], path: Path) -> None:
    figure, (axes,) = panels(1)
    place = np.arange(len(figures["pairs"]))
    for shift, which, label in ((-0.2, 0, "energy alone, by inference"), (0.2, 1, "as a loss (SEAL)")):
        values = [100 * np.array(figures["f1"][pair[which]]) for pair in figures["pairs"].values()]
        axes.bar(
            place + shift,
            [v.mean() for v in values],
            0.38,
            yerr=[v.std(ddof=1) if len(v) > 1 else 0 for v in values],
            label=label,
        )
    axes.axhline(100 * float(np.mean(figures["f1"][figures["baseline"]])), color="black", ls="--", label=figures["baseline"])
    axes.set_xticks(place, list(figures["pairs"]))
    axes.set(title=f"test F1, best rule, {figures['seeds']} seeds (bars: one standard deviation)", ylabel="example-F1")
    save(figure, path)
