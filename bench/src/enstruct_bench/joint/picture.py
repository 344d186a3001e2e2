"""Points of F1 gained against the share of labels told: asked cells, held against the base that ignores what is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from enstruct.plots.labels import new_figure, save
from enstruct_bench.comparison.bootstrap import difference_over_splits
from enstruct_bench.comparison.summary import methods_of, seeds_of
from enstruct_bench.joint.summary import Cells
from enstruct_bench.joint.told import SHARES


def gains(cells: Cells, method: str, base: str) -> np.ndarray:
    """(shares, 3): points of F1 above the base, and their 95% interval."""
    seeds = [seed for seed in seeds_of(cells, method) if (base, seed) in cells]
    keys = [f"f1@{share:g}" for share in SHARES]
    pairs = [([cells[base, s].rows[key] for s in seeds], [cells[method, s].rows[key] for s in seeds]) for key in keys]
    return 100 * np.array([difference_over_splits(a, b) for a, b in pairs])


def draw(cells: Cells, base: str, title: str, path: Path) -> None:
    """A line a method with a band for its interval. SaveError; MissingExtraError without matplotlib."""
    figure: Any = new_figure(5.6, 4.2)
    axes = figure.subplots()
    percent = 100 * np.array(SHARES)
    for method in methods_of(cells):
        told = all(f"f1@{SHARES[0]:g}" in cell.rows for (name, _), cell in cells.items() if name == method)
        if method == base or not told or not set(seeds_of(cells, method)) & set(seeds_of(cells, base)):
            continue
        mean, low, high = gains(cells, method, base).T
        (line,) = axes.plot(percent, mean, marker="o", label=method)
        axes.fill_between(percent, low, high, color=line.get_color(), alpha=0.12, linewidth=0)
    axes.axhline(0, color="0.4", linewidth=1)
    axes.set(xlabel="labels told (%)", ylabel=f"points of F1 above {base}, asked labels", xticks=percent, title=title)
    save(figure, path)
