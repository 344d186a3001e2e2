"""One table of what everything costs: `python benchmarks/table.py [--out results/benchmark-table.json] [--largest 100000]`.

Measured here, on an idle machine with one thread: how a training step grows with labels, rows and samples (seconds, resident
memory, FLOPs of the same step written densely, its share of the machine's own matrix-product rate), and the peers that are
installed (scikit-learn's one-vs-rest, pytorch-crf). The other lines are read from the files of the benchmarks that measured them.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from training_step import ours, seconds

from enstruct.comparison.run import environment
from enstruct.data.rows import Rows
from enstruct.data.synthetic import sparse_topics
from enstruct.inference.chain import Potentials, viterbi
from enstruct.methods import METHODS
from enstruct.training.batches import batches

RESULTS = Path(__file__).parents[1] / "results"
BASE = {"features": 2000, "labels": 1000, "hidden": 400, "units": 200, "samples": 20, "cardinality": 5.0}
LABELS, ROWS, SAMPLES = (100, 1000, 10_000, 100_000), (16, 32, 64, 128), (5, 20, 80)


def matmul_rate(size: int = 1024) -> float:
    """FLOP a second of a product of two square matrices."""
    a, b = torch.randn(size, size), torch.randn(size, size)
    return 2 * size**3 / seconds(lambda: a @ b, 15)


def dense_flops(shape: dict[str, Any], rows: int) -> float:
    """Of one step of SEAL-NCE with dense inputs and samples: forward passes, twice as much backward."""
    hidden, labels, units, samples = (shape[name] for name in ("hidden", "labels", "units", "samples"))
    encoder = shape["features"] * hidden + hidden**2
    predictor = encoder + hidden * labels
    energy = encoder + hidden * labels + (samples + 1) * (labels * units + labels) + labels * units + labels
    return 3 * 2 * rows * (predictor + energy)


def step(shape: dict[str, Any], rows: int, rate: float) -> dict[str, Any]:
    data = sparse_topics(2 * rows, shape["features"], shape["labels"], shape["cardinality"])
    batch = next(batches(Rows(data.X, data.Y), rows))
    torch.manual_seed(0)
    game = ours(shape)
    with torch.no_grad():  # near its base rates, as a trained predictor is
        game.predictor.head.bias.fill_(torch.logit(torch.tensor(shape["cardinality"] / shape["labels"])))
        game.predictor.head.weight.mul_(0.1)
    taken = seconds(lambda: game.play(batch, METHODS["seal-nce"].stages[0]), 5 if shape["labels"] > 20_000 else 12)
    flops = dense_flops(shape, rows)
    return {
        "labels": shape["labels"],
        "rows": rows,
        "samples": shape["samples"],
        "seconds": taken,
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "dense_gflop": flops / 1e9,
        "share_of_matmul_rate": flops / taken / rate,
    }


def growth(largest: int, rate: float) -> list[dict[str, Any]]:
    """The base shape with one number changed at a time; smallest labels first, since peak memory only rises."""
    out = [step({**BASE, "samples": n}, 32, rate) for n in SAMPLES]
    out += [step(BASE, n, rate) for n in ROWS]
    return out + [step({**BASE, "labels": n}, 32, rate) for n in LABELS if n <= largest]


def peers() -> list[dict[str, Any]]:
    data = sparse_topics(1000, 1000, 50)
    fit = OneVsRestClassifier(LogisticRegression(solver="liblinear"))
    lines = [{"what": "scikit-learn one-vs-rest, fit 1000 x 1000, 50 labels", "seconds": once(lambda: fit.fit(data.X, data.Y))}]
    try:
        from torchcrf import CRF
    except ImportError:
        return lines
    batch, time_steps, tags = 32, 40, 17
    emissions, crf = torch.randn(batch, time_steps, tags), CRF(tags, batch_first=True)
    there = torch.ones(batch, time_steps, dtype=torch.bool)
    free = (crf.transitions.detach(), crf.start_transitions.detach(), crf.end_transitions.detach())
    potentials = Potentials(-emissions, there, *(-table for table in free))
    with torch.no_grad():
        theirs = seconds(lambda: crf.decode(emissions, there), 10)
        mine = seconds(lambda: viterbi(potentials), 10)
        best = viterbi(potentials).argmax(-1)
        same = torch.equal(best, torch.tensor(crf.decode(emissions, there)))
    name = f"Viterbi, {batch} x {time_steps} x {tags}"
    return [
        *lines,
        {"what": f"pytorch-crf, {name}", "seconds": theirs},
        {"what": f"ours, {name}, equal: {same}", "seconds": mine},
    ]


def once(work: Callable[[], Any]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def kept() -> list[dict[str, Any]]:
    """The lines that other benchmarks have measured: what, ours in seconds, times faster than the published way."""
    lines = []
    for row in _read("step").get("rows", []):
        lines += [
            {"what": f"training step, {row['shape']}", "seconds": row["ours_step"], "ratio": row["step_ratio"]},
            {"what": f"inference pass, {row['shape']}", "seconds": row["ours_inference"], "ratio": row["inference_ratio"]},
        ]
    inference = _read("inference")
    for row in inference.get("inference", []):
        lines.append(
            {"what": f"20 steps of inference, batch {row['batch']}", "seconds": row["ours_20"], "ratio": row["ratio_20"]}
        )
    for row in inference.get("refinement", []):
        lines.append({"what": f"refinement, {row['steps']} steps, shared features: times a forward pass", "ratio": row["shared"]})
    for row in _read("bilevel").get("rows", []):
        what = f"{row['method']}, {row['coupling']}: times an alternating step"
        lines.append({"what": what, "seconds": row["step"], "ratio": row["times_alternating"]})
    for row in _read("decoding").get("rows", []):
        what = f"expected-F1 decoding of 1000 rows, {row['shape']}: times faster than by the formula"
        lines.append({"what": what, "seconds": row["ours"], "ratio": row["formula"] / row["ours"]})
    peers = _read("peers")
    for name, found in peers.get("lines", {}).items():
        lines.append({"what": f"fit of {peers['data']}: {name}", "seconds": found["fit_seconds"]})
    for name, rate in _read("tagging").get("tokens_per_second", {}).items():
        lines.append({"what": f"{name}, a token", "seconds": 1 / rate})
    return lines


def _read(name: str) -> dict[str, Any]:
    path = RESULTS / f"benchmark-{name}.json"
    return json.loads(path.read_text()) if path.is_file() else {}


def show(content: dict[str, Any]) -> None:
    print(f"matrix products: {content['matmul_gflops']:.0f} GFLOP/s")
    for row in content["growth"]:
        print(
            f"step of seal-nce: L {row['labels']:6d}, rows {row['rows']:3d}, samples {row['samples']:2d}: "
            f"{1e3 * row['seconds']:8.1f} ms, peak so far {row['peak_mib']:6.0f} MiB, {row['dense_gflop']:7.1f} GFLOP if dense, "
            f"{100 * row['share_of_matmul_rate']:.0f}% of the product rate"
        )
    for row in (*content["peers"], *content["kept"]):
        taken = f"{1e3 * row['seconds']:10.3f} ms" if "seconds" in row else ""
        ratio = f"{row['ratio']:6.1f}" if "ratio" in row else ""
        print(f"{row['what']:75s} {taken:14s} {ratio}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=None)
    parser.add_argument("--largest", type=int, default=LABELS[-1], help="labels at most")
    options = parser.parse_args()
    rate = matmul_rate()
    content = {
        "environment": environment(),
        "matmul_gflops": rate / 1e9,
        "growth": growth(options.largest, rate),
        "peers": peers(),
        "kept": kept(),
    }
    show(content)
    if options.out is not None:
        options.out.write_text(json.dumps(content, indent=1))


if __name__ == "__main__":
    main()
