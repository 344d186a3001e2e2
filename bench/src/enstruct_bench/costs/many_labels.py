"""Fits of very many labels, each in a process of its own.

    OMP_NUM_THREADS=1 python -m enstruct_bench.costs.many_labels label-tree:100000:50000 [--out FILE]

A case is METHOD:LABELS:ROWS, of generated documents, or METHOD:DATA. Generated labels follow Zipf's law, five a row, and emit
words of their own, so that clusters of labels know nothing: real ones do. ``fit`` holds out its own rows to choose on; 2,000
further rows, of data the test rows of the first split, are answered by its rule. Memory is the process's peak. A file goes on
with what it lacks.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

from enstruct import EnergyMultiLabelClassifier
from enstruct.cli.tables import say
from enstruct.data.catalogue import CATALOGUE
from enstruct.environment import environment
from enstruct.errors import ConstantLabelWarning, unknown_name
from enstruct.files import write_json
from enstruct.methods import METHODS
from enstruct.metrics import example_f1
from enstruct_bench.comparison.provenance import present_commit
from enstruct_bench.comparison.sparse_topics import sparse_topics
from enstruct_bench.costs.memory import peak_kib
from enstruct_bench.joint.kept_rows import kept_rows
from enstruct_bench.joint.small_tables import TABLES, parts_of
from enstruct_bench.joint.table import stacked

FEATURES, CARDINALITY, ASKED = 20_000, 5.0, 2000


def case_of(words: str) -> str:
    """The case as it was written; argparse says what is wrong with it."""
    method, _, what = words.partition(":")
    if method not in METHODS:
        raise argparse.ArgumentTypeError(str(unknown_name("method", method, METHODS)))
    name, *rows = what.split(":")
    if len(rows) > 1 or not name or (rows and not (name.isdecimal() and rows[0].isdecimal() and int(name) and int(rows[0]))):
        raise argparse.ArgumentTypeError(f"{words!r} must be METHOD:LABELS:ROWS, two whole numbers above 0, or METHOD:DATA.")
    if not rows and name not in TABLES and name not in CATALOGUE:
        raise argparse.ArgumentTypeError(f"{words}: {unknown_name('data set', name, [*TABLES, *CATALOGUE])}")
    return words


def fitted(case: str) -> dict[str, Any]:
    """In this process."""
    method, what, *rows = case.split(":")
    X, Y, asked_X, asked_Y = generated(int(what), int(rows[0])) if rows else of_data(what)
    begin = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConstantLabelWarning)  # the rarest of very many have no row
        model = EnergyMultiLabelClassifier(method, random_state=0).fit(X, Y)
    seconds, begin = time.perf_counter() - begin, time.perf_counter()
    answers = model.predict(asked_X)
    answering = time.perf_counter() - begin
    shape = {"rows": X.shape[0], "features": X.shape[1], "labels": Y.shape[1], "asked": asked_X.shape[0]}
    row = {"case": case, "method": method, "data": "generated" if rows else what, **shape, "seconds": seconds}
    row |= {"answering": answering, "mib": peak_kib() / 2**10, "f1": 100 * float(example_f1(asked_Y, answers))}
    return row | {"chosen": getattr(model.predictor_, "chosen", {})}


def generated(labels: int, n: int) -> tuple[Any, Any, Any, Any]:
    data = sparse_topics(n + ASKED, FEATURES, labels, CARDINALITY)
    return data.X[:n], data.Y[:n], data.X[n:], data.Y[n:]


def of_data(name: str) -> tuple[Any, Any, Any, Any]:
    parts = parts_of(name, 0)
    learnt, test = (parts["train"], parts["validation"]), parts["test"]
    return stacked(learnt[0].X, learnt[1].X), stacked(learnt[0].Y, learnt[1].Y), test.X, test.Y


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="+", type=case_of, help="METHOD:LABELS:ROWS or METHOD:DATA")
    parser.add_argument("--one", action="store_true", help="fit this case, and print what that took")
    parser.add_argument("--out", type=Path, default=Path("results/benchmark-many-labels.json"))
    options = parser.parse_args()
    if options.one:
        print(json.dumps(fitted(options.cases[0])))
        return
    rows = kept_rows(options.out)
    for case in options.cases:
        if any(row["case"] == case for row in rows):
            continue
        command = [sys.executable, "-m", "enstruct_bench.costs.many_labels", case, "--one"]
        rows.append(json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout))
        write_json(options.out, {"rows": rows, "environment": environment(), "commit": present_commit()})
        say("{case}: {seconds:.1f} s, answers {answering:.2f} s, {mib:.0f} MiB, F1 {f1:.2f}".format(**rows[-1]))


if __name__ == "__main__":
    main()
