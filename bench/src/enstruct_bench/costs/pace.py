"""What cycles of the rate save: fits by the default beside fits that end by patience, on the same splits.

    OMP_NUM_THREADS=1 python -m enstruct_bench.costs.pace bibtex,yeast --methods seal-nce,cross-entropy --seeds 5 \\
        --out results/pace-bibtex.json

"patience" is what the default was before: batches of 32, a rate of 0.001 that is halved on plateaus, and an end after 20 epochs
without a better score, more on small data. Each fit holds its decision rules; F1 is of test rows, by the rule that the fit chose.
Seconds are of the processor, so that they can be compared where other work runs beside. A file goes on with what it lacks.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

from enstruct import EnergyMultiLabelClassifier
from enstruct.cli.tables import say
from enstruct.data.dataset import Dataset
from enstruct.environment import environment
from enstruct.files import write_json
from enstruct.metrics import Counts, rowwise_f1
from enstruct.tasks import LABELS
from enstruct_bench.comparison.bootstrap import difference_over_splits
from enstruct_bench.comparison.provenance import present_commit
from enstruct_bench.joint.kept_rows import kept_rows
from enstruct_bench.joint.small_tables import parts_of

BATCH, RATE = 32, 1e-3
SIDES = ("patience", "cycles")


def patient(n_rows: int) -> dict[str, Any]:
    """Parameters of a fit that ends by patience, on so many training rows."""
    budget = LABELS.budget
    ends = {"max_epochs": budget.most, "n_iter_no_change": budget.patience}
    return {"batch_size": BATCH, "learning_rate": RATE} | {
        name: budget.epochs(length, n_rows, BATCH) for name, length in ends.items()
    }


def fitted(parts: dict[str, Dataset], method: str, seed: int, parameters: dict[str, Any]) -> dict[str, Any]:
    """Seconds, updates and the F1 of each test row."""
    train, validation, test = parts["train"], parts["validation"], parts["test"]
    begin = time.process_time()
    model = EnergyMultiLabelClassifier(method, random_state=seed, **parameters)
    model.fit(train.X, train.Y, X_val=validation.X, y_val=validation.Y)
    seconds = time.process_time() - begin
    f1 = rowwise_f1(test.Y, model.predict(test.X))
    return {"seconds": seconds, "updates": model.updates_["predictor"], "f1": [round(float(one), 6) for one in f1]}


def compared(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A line a data set and method: means of both sides, and the paired difference of their F1 in percent."""
    lines = []
    for data, method in dict.fromkeys((row["data"], row["method"]) for row in rows):
        runs = [row for row in rows if (row["data"], row["method"]) == (data, method)]
        sides = {side: [Counts.of(run[side]["f1"]) for run in runs] for side in SIDES}
        gain = difference_over_splits(sides["patience"], sides["cycles"])
        line: dict[str, Any] = {"data": data, "method": method, "rows": runs[0]["rows"], "splits": len(runs)}
        for side in sides:
            line[f"{side}_seconds"] = sum(run[side]["seconds"] for run in runs) / len(runs)
            line[f"{side}_f1"] = 100 * sum(sum(run[side]["f1"]) / len(run[side]["f1"]) for run in runs) / len(runs)
        lines.append(line | {"gain": [100 * value for value in gain]})
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", help="names of data sets, joined by commas")
    parser.add_argument("--methods", default="seal-nce,cross-entropy")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path("results/pace.json"))
    options = parser.parse_args()
    rows = kept_rows(options.out, sides=list(SIDES))
    for data in options.data.split(","):
        for seed in range(options.seeds):
            wanted = [(data, method, seed) for method in options.methods.split(",")]
            lacking = [key for key in wanted if not any((row["data"], row["method"], row["seed"]) == key for row in rows)]
            parts = parts_of(data, seed) if lacking else {}
            for _, method, _ in lacking:
                n = len(parts["train"])
                row: dict[str, Any] = {"data": data, "method": method, "seed": seed, "rows": n}
                row |= {"patience": fitted(parts, method, seed, patient(n)), "cycles": fitted(parts, method, seed, {})}
                rows.append(row)
                content = {"sides": SIDES, "rows": rows, "compared": compared(rows)}
                write_json(options.out, {**content, "commit": present_commit(), "environment": environment()})
                say(f"{data} {method} {seed}: " + ", ".join(f"{side} {row[side]['seconds']:.1f} s" for side in SIDES))
    for line in compared(rows):
        say(
            "{data} {method}: {patience_seconds:.1f} s, F1 {patience_f1:.2f}; "
            "cycles {cycles_seconds:.1f} s, F1 {cycles_f1:.2f}; "
            "{0:+.2f} [{1:+.2f}, {2:+.2f}]".format(*line["gain"], **line)
        )


if __name__ == "__main__":
    main()
