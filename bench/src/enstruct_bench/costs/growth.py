"""How a training step of SEAL-NCE grows with labels, rows and samples, ours and the published way.

    OMP_NUM_THREADS=1 python -m enstruct_bench.costs.growth [--out results/benchmark-growth.json] [--largest 100000]

Every line is measured in a process of its own, so that its peak memory is its own. FLOPs are those of the dense products that
were made (counted by torch; sparse inputs and samples are gathered and added, which it does not count); the share of the roofline
is their rate over that of a plain product of two matrices, measured here too. One base shape, one number changed at a time.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from scipy import sparse

from enstruct.data.rows import Rows
from enstruct.environment import environment
from enstruct.files import write_json
from enstruct.methods import METHODS
from enstruct.training.batches import batches
from enstruct_bench.comparison.sparse_topics import sparse_topics
from enstruct_bench.costs.as_published import PublishedStep
from enstruct_bench.costs.measuring import flops, matmul_rate, seconds
from enstruct_bench.costs.memory import peak_kib
from enstruct_bench.costs.training_step import near_base_rates, networks, ours

BASE = {"features": 2000, "labels": 1000, "hidden": 400, "units": 200, "samples": 20, "cardinality": 5.0, "rows": 32}
CHANGED = {"samples": (5, 20, 80), "rows": (16, 32, 64, 128), "labels": (100, 1000, 10_000, 100_000)}
WAYS = ("ours", "as published")
ITSELF = "enstruct_bench.costs.growth"
"""As a module that another process runs."""


def resident_kib() -> float:
    """What this program holds now."""
    status = Path("/proc/self/status")
    return next(float(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmRSS"))


def measure(way: str, shape: dict[str, Any]) -> dict[str, Any]:
    """One line, of this process: seconds of a step, GFLOP of its dense products, MiB above what the process held before it."""
    torch.manual_seed(0)
    data = sparse_topics(2 * shape["rows"], shape["features"], shape["labels"], shape["cardinality"])
    X = data.X if way == "ours" else sparse.csr_matrix(data.X).toarray()
    batch = next(batches(Rows(X, data.Y), shape["rows"]))
    before = resident_kib()
    predictor: torch.nn.Module
    step: Callable[[], object]
    if way == "ours":
        game = ours(shape)
        predictor, stage = game.predictor, METHODS["seal-nce"].stages[0]
        step = lambda: game.play(batch, stage)  # noqa: E731
    else:
        published = PublishedStep(*networks(shape, is_sparse=False), shape["samples"], 5.0)
        predictor = published.predictor
        step = lambda: published.step(batch.x, batch.y)  # noqa: E731
    near_base_rates(predictor, shape)
    taken = seconds(step, 3 if shape["labels"] > 20_000 else 12, warm=3)
    peak = (peak_kib() - before) / 1024
    return {**shape, "way": way, "seconds": taken, "peak_mib": peak, "gflop": flops(step) / 1e9}


def lines(largest: int, keep: Callable[[list[dict[str, Any]]], None] = lambda lines: None) -> list[dict[str, Any]]:
    """``keep`` is told of what is measured after each line; one that cannot be, for want of memory, is named and left out."""
    measured: list[dict[str, Any]] = []
    for name, values in CHANGED.items():
        for value in values:
            if name == "labels" and value > largest:
                continue
            for way in WAYS:
                asked = json.dumps({"way": way, "shape": {**BASE, name: value}})
                done = subprocess.run(
                    [sys.executable, "-m", ITSELF, "--one", asked], stdout=subprocess.PIPE, text=True, check=False
                )
                if done.returncode:
                    print(f"{way}, {name} {value}: ended with status {done.returncode}", flush=True)
                    continue
                measured.append({"changed": name, **json.loads(done.stdout)})
                print(text(measured[-1]), flush=True)
                keep(measured)
    return measured


def text(line: dict[str, Any]) -> str:
    return (
        f"{line['way']:12s} labels {line['labels']:6d}, rows {line['rows']:3d}, samples {line['samples']:2d}: "
        f"{1e3 * line['seconds']:8.1f} ms, {line['peak_mib']:6.0f} MiB, {line['gflop']:8.2f} GFLOP"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=None)
    parser.add_argument("--largest", type=int, default=CHANGED["labels"][-1], help="labels at most")
    parser.add_argument("--one", type=json.loads, default=None, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one is not None:
        print(json.dumps(measure(**options.one)))
        return
    rate = matmul_rate()
    print(f"matrix products: {rate / 1e9:.0f} GFLOP/s")
    content = {"environment": environment(), "matmul_gflops": rate / 1e9}

    def keep(measured: list[dict[str, Any]]) -> None:
        if options.out is not None:
            write_json(options.out, {**content, "lines": measured})

    lines(options.largest, keep)


if __name__ == "__main__":
    main()
