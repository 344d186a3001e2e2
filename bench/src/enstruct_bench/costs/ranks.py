"""How many more rows a second two processes train on together than one does, a thread each.

    OMP_NUM_THREADS=1 python -m enstruct_bench.costs.ranks [--data bibtex] [--methods cross-entropy,seal-nce] \\
        [--batches 256,1024] [--out FILE]

On an idle machine of two cores or more. A batch has as many rows for both, so that they take the same steps; the rows of the last
epochs over their seconds, without what a fit costs once. The group is started by torch's own launcher, as a user would. Apart:
what two processes reach that train on batches of half as many rows side by side and exchange nothing. Two that do can
hardly do better: the optimiser's step and what else a batch costs whatever its rows are each one's own, and both read one memory.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from enstruct import EnergyMultiLabelClassifier
from enstruct.cli.ranks import launched
from enstruct.data.load import load_splits
from enstruct.environment import environment
from enstruct.files import write_json
from enstruct.training.ranks import add_up, alone, n_ranks, on_all
from enstruct_bench.comparison.provenance import present_commit

EPOCHS, WARM = 6, 2
MARK = "rows a second: "


def trained(data: str, method: str, batch: int) -> float:
    """Rows a second of the group that this process is one of, or of this process."""
    train = load_splits(data).train
    model = EnergyMultiLabelClassifier(
        method, batch_size=batch, max_epochs=EPOCHS, n_iter_no_change=EPOCHS, early_stopping=False, random_state=0
    )
    model.fit(train.X, train.Y)
    seconds = [record["seconds"] for record in model.history_[WARM:]]
    return len(train) * len(seconds) / sum(seconds)


def beside_others(data: str, method: str, batch: int) -> float:
    """Rows a second of all processes of the group, each of which trains by itself, on batches of its share of the rows."""
    n = n_ranks()
    on_all(True)  # all begin together
    with alone():
        speed = torch.tensor(trained(data, method, batch // n))
    add_up(speed)
    return float(speed)


def measured(data: str, method: str, batch: int) -> dict[str, Any]:
    group = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
    one, two, apart = (
        speed_of(data, method, batch, launcher, how) for launcher, how in (([], "--one"), (group, "--one"), (group, "--apart"))
    )
    return {"data": data, "method": method, "batch": batch, "one": one, "two": two, "apart": apart}


def speed_of(data: str, method: str, batch: int, launcher: list[str], how: str) -> float:
    """Rows a second of a process, or of those that the launcher starts, together."""
    what = ["--data", data, "--methods", method, "--batches", str(batch)]
    command = [sys.executable, *launcher, "-m", "enstruct_bench.costs.ranks", *what, how]
    said = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return float(said.rsplit(MARK, 1)[1].split()[0])


def sizes(words: str) -> list[int]:
    """Whole numbers joined by commas; argparse says where they are none."""
    return [int(size) for size in words.split(",")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="bibtex")
    parser.add_argument("--methods", default="cross-entropy,seal-nce")
    parser.add_argument("--batches", type=sizes, default=[256, 1024], help="rows of a batch of both together")
    parser.add_argument("--one", action="store_true", help="be one of the processes, and print what they reach")
    parser.add_argument(
        "--apart", action="store_true", help="be one that trains alone beside the others, on its share of a batch"
    )
    parser.add_argument("--out", type=Path, default=Path("results/benchmark-ranks.json"))
    options = parser.parse_args()
    if options.one or options.apart:
        with launched() as first:
            speed = (beside_others if options.apart else trained)(options.data, options.methods, options.batches[0])
            if first:
                print(MARK + json.dumps(speed))
            if dist.is_initialized():
                dist.barrier()  # the launcher ends those that are left once one has ended
        sys.stdout.flush()
        os._exit(0)  # all is said: gloo's threads now and then abort a process whose interpreter is taken down beside them
    rows = [measured(options.data, method, size) for method in options.methods.split(",") for size in options.batches]
    write_json(options.out, {"rows": rows, "environment": environment(), "commit": present_commit()})
    for row in rows:
        print(
            f"{row['method']}, batches of {row['batch']}: {row['one']:.0f} and {row['two']:.0f} rows a second: "
            f"{row['two'] / row['one']:.2f} times as many, {row['apart'] / row['one']:.2f} times apart"
        )


if __name__ == "__main__":
    main()
