"""By what averages of bases are chosen: F1 under the best rule, as the joint does, or a score of the marginals themselves.

    OMP_NUM_THREADS=1 python -m enstruct_bench.joint.averages wine,yeast --seeds 5 --out results/averages.json

    f1           of the best rule, rules fitted on one half of the rows and applied to the other
    likelihood   log p(y given x) of the product of marginals
    precision    micro average precision of all cells

The bases of "auto" are cross-fitted on a split's training rows, once for all criteria; decision rules are fitted to each average
there, as the joint fits them, and its validation rows judge: the test rows are left for figures that nothing is chosen by. A file
goes on with what it lacks.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import average_precision_score

from enstruct.cli.tables import say
from enstruct.data.rows import Rows, as_indicator
from enstruct.data.splits import stratified_folds
from enstruct.environment import environment
from enstruct.estimators.bases import automatic
from enstruct.estimators.cross_fitting import CrossFitted, Score, best_score, choose, cross_fit
from enstruct.estimators.label_rules import LabelRules
from enstruct.estimators.training_table import Table
from enstruct.files import write_json
from enstruct.metrics import Counts, log_loss, rowwise_f1
from enstruct_bench.comparison.bootstrap import difference_over_splits
from enstruct_bench.comparison.provenance import present_commit
from enstruct_bench.joint.kept_rows import kept_rows
from enstruct_bench.joint.small_tables import parts_of
from enstruct_bench.joint.table import Array

METRIC = "example-f1"
FOLDS = 5


def nats(Y: Array, p: Array) -> float:
    """-log p(y given x) a row, of independent labels."""
    return log_loss(Y, np.clip(p, 1e-4, 1 - 1e-4)) * Y.shape[1]


def precision(Y: Array, p: Array) -> float:
    return float(average_precision_score(Y.ravel(), p.ravel()))


CRITERIA: dict[str, Callable[[Table], Score]] = {
    "f1": lambda table: lambda p: best_score(p, table, METRIC),
    "likelihood": lambda table: lambda p: -nats(table.Y, p),
    "precision": lambda table: lambda p: precision(table.Y, p),
}
"""Training rows -> what scores their cross-fitted marginals."""
CHOSEN = "f1"


def measured(data: str, seed: int, minutes: float) -> dict[str, Any]:
    """A row: what each criterion chose, and the F1 of each validation row, -log p and average precision of it."""
    parts = parts_of(data, seed)
    X, Y = parts["train"].X, parts["train"].Y.toarray().astype(np.float32)
    varying = np.flatnonzero(Y.min(0) < Y.max(0))
    table, _ = Table(X, Y[:, varying]).merged()
    new, truth = parts["validation"].X, parts["validation"].Y.toarray()[:, varying].astype(np.float32)
    folds = [np.sort(fold) for fold in stratified_folds(as_indicator(table.Y), FOLDS, seed)]
    deadline, fitted = time.monotonic() + 60 * minutes, list[CrossFitted]()
    for base in automatic(table, METRIC):
        one = cross_fit(base, table, folds, seed, deadline, last=not fitted)
        fitted += [] if one is None else [one]
    answers = [one.answer(new) for one in fitted]
    row: dict[str, Any] = {"data": data, "seed": seed, "rows": len(table), "bases": [one.base.name for one in fitted]}
    for name, criterion in CRITERIA.items():
        chosen, _ = choose(fitted, criterion(table))
        cross_fitted = np.mean([fitted[i].marginals for i in chosen], axis=0)
        rules = LabelRules.fit(cross_fitted, Rows(table.X, as_indicator(table.Y), table.weight), METRIC, "auto", None)
        p = np.mean([answers[i] for i in chosen], axis=0)
        f1 = rowwise_f1(as_indicator(truth), rules.rules[rules.decision].predict(p))
        row[name] = {
            "average": "+".join(fitted[i].base.name for i in chosen),
            "f1": [round(float(one), 4) for one in f1],
            "nats": nats(truth, p),
            "precision": precision(truth, p),
        }
    return row


def compared(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A line a data set and criterion, and of all data sets together: means, and the difference of F1 to that by ``CHOSEN``, in
    percent."""
    lines = []
    for data in [*dict.fromkeys(row["data"] for row in rows), "all"]:
        runs = [row for row in rows if data in (row["data"], "all")]
        sides = {name: [Counts.of(run[name]["f1"]) for run in runs] for name in CRITERIA}
        for name in CRITERIA:
            gain = difference_over_splits(sides[CHOSEN], sides[name])
            lines.append(
                {
                    "data": data,
                    "splits": len(runs),
                    "criterion": name,
                    "f1": 100 * float(np.mean([np.mean(run[name]["f1"]) for run in runs])),
                    "gain": [100 * value for value in gain],
                    "nats": float(np.mean([run[name]["nats"] for run in runs])),
                    "precision": 100 * float(np.mean([run[name]["precision"] for run in runs])),
                }
            )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", help="names of data sets, joined by commas")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--minutes", type=float, default=3.0, help="for the bases of a split")
    parser.add_argument("--out", type=Path, default=Path("results/averages.json"))
    options = parser.parse_args()
    rows = kept_rows(options.out, minutes=options.minutes)
    for data in options.data.split(","):
        for seed in range(options.seeds):
            if any((row["data"], row["seed"]) == (data, seed) for row in rows):
                continue
            rows.append(row := measured(data, seed, options.minutes))
            content = {"minutes": options.minutes, "rows": rows, "compared": compared(rows)}
            write_json(options.out, {**content, "commit": present_commit(), "environment": environment()})
            say(f"{data} {seed}: " + "; ".join(f"{name} {row[name]['average']}" for name in CRITERIA))
    for line in compared(rows):
        say("{data} by {criterion}: F1 {f1:.2f}, {0:+.2f} [{1:+.2f}, {2:+.2f}]; {nats:.3f} nats".format(*line["gain"], **line))


if __name__ == "__main__":
    main()
