"""How far the published protocol comes from the published figures, and how much of that other rows and seeds alone would make.

The papers' splits are not public, so their figure and ours are means over different test rows, of different seeds. With s_r^2 the
variance between rows of their mean score over our k runs, n rows and s_k^2 the variance between runs, the difference of two such
figures of one method has the variance

    2 s_r^2 / n  +  s_k^2 (1/k + 1/10)

where theirs is taken to have as many test rows and the spread of ours, and to be a mean of the ten seeds of the code that SEAL's
authors published (their paper does not say). Of one run the second term is not known and left out. 1.96 of its roots are printed.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from enstruct.reports.cells import mark, runs_of
from enstruct.reproduce.store import Run, Store
from enstruct.reproduce.table import LabelTable

PUBLISHED_SEEDS = 10
NORMAL_95 = 1.96


def published_lines(table: LabelTable, store: Store, dataset: str, methods: Sequence[str]) -> list[str]:
    return [*_distances(table, store, dataset, methods), *_picked(table, store, dataset, methods)]


def chance(rows: Sequence[NDArray[np.float64]]) -> float:
    """What other rows and seeds make of the difference of two figures, in 95 of 100 cases; ``rows``: scores of a run each."""
    scores = np.stack(rows).astype(float)
    of_rows = scores.mean(axis=0).var(ddof=1) / scores.shape[1]
    of_seeds = scores.mean(axis=1).var(ddof=1) if len(scores) > 1 else 0.0
    return NORMAL_95 * sqrt(2 * of_rows + of_seeds * (1 / len(scores) + 1 / PUBLISHED_SEEDS))


def _distances(table: LabelTable, store: Store, dataset: str, methods: Sequence[str]) -> list[str]:
    within: list[str] = []
    beyond: list[str] = []
    single = False
    for method in methods:
        published, runs = table.rows.get(method, {}).get(dataset), runs_of(store, dataset, "published", method)
        if published is None or not runs:
            continue
        difference = 100 * _mean(table, runs) - published
        expected = 100 * chance([run.rows["fixed"] for run in runs])
        text = f"{method} {difference:+.2f} ±{expected:.2f}{mark(table, runs)}"
        (within if abs(difference) <= expected else beyond).append(text)
        single |= len(runs) == 1
    if not within and not beyond:
        return []
    what = "test rows" if single else "test rows and seeds"
    return [
        f"Published protocol at 0.5 less the published figure, ± what other {what} alone make of it in 95 of 100 cases (the "
        f"papers' splits are not public). Within: {', '.join(within) or 'none'}. Beyond: {', '.join(beyond) or 'none'}.",
        "",
    ]


def _picked(table: LabelTable, store: Store, dataset: str, methods: Sequence[str]) -> list[str]:
    """What each row's figure would be if one run of several were picked by its validation score, as a search does; of rows whose
    runs all have one (those from before 2026-11-23 have none)."""
    picked = []
    for method in methods:
        runs = runs_of(store, dataset, "published", method)
        if len(runs) > 1 and all(run.line.get("validation_score") is not None for run in runs):
            best = max(runs, key=lambda run: float(run.line["validation_score"]))
            picked.append(f"{method} {100 * _mean(table, [best]):.2f} ({len(runs)}){mark(table, runs)}")
    if not picked:
        return []
    return [
        "Published protocol, at 0.5, of so many runs the one with the best score on validation rows: " + ", ".join(picked) + ".",
        "",
    ]


def _mean(table: LabelTable, runs: Sequence[Run]) -> float:
    return float(np.mean([run.line[table.metric.replace("-", "_")]["fixed"] for run in runs]))
