"""What the default takes of a whole data set, `EnergyMultiLabelClassifier().fit(X, y)` and no more, each in a process of its own.

    OMP_NUM_THREADS=2 python -m enstruct_bench.costs.default diabetes,imdb [--out results/benchmark-default.json]

It has the training and the validation rows of the first split, and answers for the test rows by its own rule. Memory is the
process's peak. A file goes on with what it lacks.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from enstruct import EnergyMultiLabelClassifier
from enstruct.cli.tables import say
from enstruct.environment import environment
from enstruct.files import write_json
from enstruct.metrics import example_f1
from enstruct_bench.comparison.provenance import present_commit
from enstruct_bench.costs.memory import peak_kib
from enstruct_bench.joint.kept_rows import kept_rows
from enstruct_bench.joint.small_tables import parts_of


def fitted(data: str) -> dict[str, Any]:
    """In this process."""
    parts = parts_of(data, 0)
    learnt = [parts["train"], parts["validation"]]
    rows: list[Any] = [part.X for part in learnt]
    X = sparse.vstack(rows, format="csr") if sparse.issparse(rows[0]) else np.concatenate(rows)
    Y = sparse.vstack([part.Y for part in learnt], format="csr")
    begin = time.perf_counter()
    model = EnergyMultiLabelClassifier(random_state=0).fit(X, Y)
    seconds = time.perf_counter() - begin
    peak, f1 = peak_kib() / 2**10, example_f1(parts["test"].Y, model.predict(parts["test"].X))
    joint = model.joint_
    row = {"data": data, "rows": X.shape[0], "features": X.shape[1], "labels": Y.shape[1], "seconds": seconds, "mib": peak}
    return row | {"f1": 100 * float(f1), "base": [one.base.name for one in joint.base_], "energy": joint.terms_}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", help="names of data sets, joined by commas")
    parser.add_argument("--one", action="store_true", help="fit on this data set, and print what that took")
    parser.add_argument("--out", type=Path, default=Path("results/benchmark-default.json"))
    options = parser.parse_args()
    if options.one:
        print(json.dumps(fitted(options.data)))
        return
    rows = kept_rows(options.out)
    for data in options.data.split(","):
        if any(row["data"] == data for row in rows):
            continue
        command = [sys.executable, "-W", "ignore", "-m", "enstruct_bench.costs.default", data, "--one"]
        rows.append(json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout))
        write_json(options.out, {"rows": rows, "environment": environment(), "commit": present_commit()})
        say("{data}: {seconds:.1f} s, {mib:.0f} MiB, F1 {f1:.2f}".format(**rows[-1]))


if __name__ == "__main__":
    main()
