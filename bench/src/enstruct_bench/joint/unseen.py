"""The default and single bases on real tables that nothing was chosen on (:mod:`enstruct_bench.joint.r_tables`).

    OMP_NUM_THREADS=1 python -m enstruct_bench.joint.unseen --tables 60 --out results/unseen.json

60/20/20 of each table's rows, one split; each side by its own best rule for example-F1. The best single base by hindsight is
known from the test rows themselves, so that it is better than any that could be chosen: beside it stands what it comes to where
it is taken by one half of the test rows and judged on the other. Tables come in one random order, so that a shorter run is a
sample of them. Intervals are by bootstrap over tables. A file goes on with what it lacks.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from enstruct.cli.tables import say
from enstruct.data.dataset import Dataset
from enstruct.data.rows import as_indicator
from enstruct.data.splits import Splits, places_60_20_20
from enstruct.environment import environment
from enstruct.files import write_json
from enstruct_bench.comparison.bootstrap import Interval
from enstruct_bench.comparison.provenance import present_commit
from enstruct_bench.joint.figures import measured
from enstruct_bench.joint.fitted_estimators import Estimators
from enstruct_bench.joint.kept_rows import kept_rows
from enstruct_bench.joint.r_tables import tables
from enstruct_bench.joint.summary import factor_of, value_of
from enstruct_bench.joint.table import Array, table_of, varying_of

SINGLE = ("binary-relevance", "extra-trees", "boosting", "catboost", "lightgbm", "cross-entropy")
"""Of which the best one is known by hindsight."""
SIDES = ("joint", "base", "masked-extra-trees", "chains", *(f"base:{name}" for name in SINGLE))
FIGURES = ("f1", "exact", "nll", "f1@0.5", "loss@0.5", "fit_seconds")
HINDSIGHT, HALVES = "best single, same rows", "best single, other rows"
LEVEL = 0.5
"""Points of F1 within which two sides are level on a table."""


def split_of(name: str, X: Array, Y: Array, seed: int) -> Splits:
    labels = tuple(f"y{i}" for i in range(Y.shape[1]))
    data = Dataset(np.asarray(X, dtype=np.float64), as_indicator(Y), tuple(f"x{i}" for i in range(X.shape[1])), labels, name=name)
    return Splits(*(data.take(np.sort(part)) for part in places_60_20_20(len(data), seed, name, "rows")))


def order_of(names: list[str]) -> list[str]:
    return [names[i] for i in np.random.default_rng(0).permutation(len(names))]


def row_of(name: str, X: Array, Y: Array, sides: tuple[str, ...], minutes: float) -> dict[str, Any]:
    """Figures of each side, in percent, nats or seconds; ``halves``: F1 of every other test row and of those between."""
    table = table_of(split_of(name, X, Y, 0))
    estimators = Estimators(table, 0, minutes=minutes)
    row: dict[str, Any] = {"table": name, "rows": len(Y), "features": X.shape[1], "labels": table.n_labels, "sides": {}}
    for side in sides:
        cell = measured(side, estimators, ("told",))
        figures = {key: factor_of(key) * value for key in FIGURES if (value := value_of(cell, key)) is not None}
        f1 = np.asarray(cell.rows["f1"].above).ravel()
        row["sides"][side] = {**figures, "halves": [100 * float(f1[half::2].mean()) for half in (0, 1)]}
    row["base"] = "+".join(one.base.name for one in estimators.fit("").estimator.base_)
    return row


def with_hindsight(row: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The row's sides, and, where all single bases are among them, what the best has of F1."""
    if any(f"base:{name}" not in row["sides"] for name in SINGLE):
        return dict(row["sides"])
    halves = np.array([row["sides"][f"base:{name}"]["halves"] for name in SINGLE])
    best = {"f1": max(row["sides"][f"base:{name}"]["f1"] for name in SINGLE)}
    other = {"f1": float(np.mean([halves[halves[:, half].argmax(), 1 - half] for half in (0, 1)]))}
    return {**row["sides"], HINDSIGHT: best, HALVES: other}


def over_tables(values: Array, replicates: int = 2000) -> Interval:
    draws = np.random.default_rng(0).integers(0, len(values), (replicates, len(values)))
    low, high = np.percentile(values[draws].mean(1), [2.5, 97.5])
    return Interval(float(values.mean()), float(low), float(high))


def compared(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A line a side: means over tables; of F1 and what is told the side less the joint, and on how many tables the joint is ahead
    of, level with and behind it."""
    sides = [with_hindsight(row) for row in rows]
    lines = []
    for name in sides[0]:
        line: dict[str, Any] = {"side": name, "tables": len(rows)}
        for figure in FIGURES:
            if figure not in sides[0][name]:
                continue
            own, joint = (np.array([one[side][figure] for one in sides]) for side in (name, "joint"))
            line[figure] = float(np.median(own) if figure == "fit_seconds" else own.mean())
            if name != "joint" and figure != "fit_seconds":
                line[f"{figure} apart"] = list(over_tables(own - joint))
            if name != "joint" and figure == "f1":
                lead = joint - own
                line["ahead"] = [int((lead > LEVEL).sum()), int((abs(lead) <= LEVEL).sum()), int((lead < -LEVEL).sum())]
        lines.append(line)
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=60, help="how many, of a random order")
    parser.add_argument("--sides", default=",".join(SIDES), help="joined by commas")
    parser.add_argument("--minutes", type=float, default=3.0, help="of each default base")
    parser.add_argument("--out", type=Path, default=Path("results/unseen.json"))
    options = parser.parse_args()
    if options.tables < 1 or "joint" not in options.sides.split(","):
        parser.error("give one table at least, and joint among the sides: the others are compared with it")
    sides = tuple(options.sides.split(","))
    settings = {"minutes": options.minutes, "sides": list(sides)}
    rows = kept_rows(options.out, **settings)
    everything = tables()
    for name in order_of(list(everything))[: options.tables]:
        if any(row["table"] == name for row in rows):
            continue
        if len(varying_of(split_of(name, *everything[name], 0).train.Y.toarray())) < 2:
            say(f"{name} left out: of its training rows fewer than two labels vary")
            continue
        rows.append(row := row_of(name, *everything[name], sides, options.minutes))
        content = {**settings, "rows": rows, "compared": compared(rows)}
        write_json(options.out, {**content, "commit": present_commit(), "environment": environment()})
        found = "; ".join(f"{side} {one['f1']:.2f}" for side, one in with_hindsight(row).items())
        say(f"{name} ({row['rows']} x {row['features']} x {row['labels']}), on {row['base']}: {found}")
    for line in compared(rows):
        say("; ".join(f"{key} {value if isinstance(value, (str, int)) else np.round(value, 3)}" for key, value in line.items()))


if __name__ == "__main__":
    main()
