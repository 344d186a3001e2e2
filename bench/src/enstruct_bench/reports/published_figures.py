"""How far the published protocol comes from the published figures, and how much of that other rows and seeds alone would make.

Of most sets the papers' splits are not public: their figure and ours are means over two fifths drawn apart of the same rows. With
s_r^2 the variance between rows of their mean score over our k runs, n test rows and s_k^2 the variance between runs, the
difference of two such figures of one method has the variance

    2 (1 - 1/5) s_r^2 / n  +  s_k^2 (1/k + 1/10)

where theirs is taken to have as many test rows and the spread of ours, and to be a mean of the ten seeds of the code that SEAL's
authors published (their paper does not say). Sets published in parts have their own test rows here too, and no first term. Of one
run the second is not known and left out. The square root is printed times Student's 97.5% point, of as many degrees of freedom
as Satterthwaite (1946) gives the sum: of few runs that differ widely s_k says little.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from enstruct.data.catalogue import CATALOGUE
from enstruct_bench.reports.cells import mark, runs_of
from enstruct_bench.reproduce.store import Run, Store
from enstruct_bench.reproduce.table import LabelTable

PUBLISHED_SEEDS = 10
TESTED = 1 / 5
"""Of all rows."""


def published_lines(table: LabelTable, store: Store, dataset: str, methods: Sequence[str]) -> list[str]:
    return [*_distances(table, store, dataset, methods), *_picked(table, store, dataset, methods)]


def chance(rows: Sequence[NDArray[np.float64]], same_rows: bool = False) -> float | None:
    """What other rows and seeds make of the difference of two figures, in 95 of 100 cases; ``rows``: scores of a run each.

    ``same_rows``: both figures are of the same test rows; None where nothing else is known, of one run.
    """
    scores = np.stack(rows).astype(float)
    runs, n = scores.shape
    of_rows = 0.0 if same_rows else 2 * (1 - TESTED) * scores.mean(axis=0).var(ddof=1) / n
    of_seeds = scores.mean(axis=1).var(ddof=1) * (1 / runs + 1 / PUBLISHED_SEEDS) if runs > 1 else 0.0
    if same_rows and runs == 1:
        return None
    terms = of_rows**2 / (n - 1) + (of_seeds**2 / (runs - 1) if runs > 1 else 0.0)
    freedom = (of_rows + of_seeds) ** 2 / terms if terms > 0 else np.inf
    return float(student.ppf(0.975, freedom)) * sqrt(of_rows + of_seeds)


def _distances(table: LabelTable, store: Store, dataset: str, methods: Sequence[str]) -> list[str]:
    groups: dict[str, list[str]] = {"Within": [], "Beyond": [], "One run, of which nothing can be said": []}
    within, beyond, unknown = groups.values()
    same_rows, single = dataset in CATALOGUE and CATALOGUE[dataset].published_parts, False
    for method in methods:
        published, runs = table.rows.get(method, {}).get(dataset), runs_of(store, dataset, "published", method)
        if published is None or not runs:
            continue
        difference = 100 * _mean(table, runs) - published
        expected = chance([run.rows["fixed"].above[:, 0] for run in runs], same_rows)
        if expected is None:
            unknown.append(f"{method} {difference:+.2f}{mark(table, runs)}")
            continue
        text = f"{method} {difference:+.2f} ±{100 * expected:.2f}{mark(table, runs)}"
        (within if abs(difference) <= 100 * expected else beyond).append(text)
        single |= len(runs) == 1
    if not any(groups.values()):
        return []
    rows = "the test rows are those published" if same_rows else "the papers' splits are not public"
    what = "seeds" if same_rows else "test rows" if single else "test rows and seeds"
    listed = [f"{title}: {', '.join(names) or 'none'}." for title, names in groups.items() if names or names is not unknown]
    return [
        f"Published protocol at 0.5 less the published figure, ± what other {what} alone make of it in 95 of 100 cases ({rows}). "
        + " ".join(listed),
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
