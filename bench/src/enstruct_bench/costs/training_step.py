"""Seconds and FLOPs of a training step and of an inference pass, ours against the published way, in one run.

    python -m enstruct_bench.costs.training_step [--out results/benchmark-step.json] [--steps 30]

Shapes: bibtex's (1836 features, 159 labels, 20 samples) and eurlex-ev's (5000, 3993, 40), in batches of 32 rows, as published,
and in the default's for so many training rows. Median of the repeats.
"""

from __future__ import annotations

import argparse
import copy
from pathlib import Path
from typing import Any, cast

import torch
from scipy import sparse

from enstruct.data.rows import Rows
from enstruct.encoders import MLP, Predictor
from enstruct.energies import EnergySpec, build_energy
from enstruct.environment import environment
from enstruct.files import write_json
from enstruct.methods import METHODS
from enstruct.spaces import LabelSpace
from enstruct.tasks.base import Batches
from enstruct.tasks.labels import LABELS
from enstruct.training.batches import batches
from enstruct.training.freed_memory import keep_freed_memory
from enstruct.training.game import Game
from enstruct.training.learned_loss import LearnedLoss
from enstruct.training.settings import Settings
from enstruct_bench.comparison.sparse_topics import sparse_topics
from enstruct_bench.costs.as_published import PublishedStep
from enstruct_bench.costs.measuring import flops, matmul_rate, seconds

SHAPES: dict[str, dict[str, Any]] = {
    "bibtex": {"rows": 4437, "features": 1836, "labels": 159, "hidden": 400, "units": 200, "samples": 20, "cardinality": 2.4},
    "eurlex-ev": {
        "rows": 11588,
        "features": 5000,
        "labels": 3993,
        "hidden": 500,
        "units": 300,
        "samples": 40,
        "cardinality": 5.3,
    },
}
PUBLISHED_BATCH = 32


def networks(shape: dict[str, Any], is_sparse: bool) -> tuple[Predictor, torch.nn.Module]:
    def encoder() -> MLP:
        return MLP(shape["features"], shape["hidden"], 2, 0.5, sparse=is_sparse)

    predictor = Predictor(encoder(), shape["labels"])
    return predictor, build_energy(EnergySpec(units=shape["units"]), predictor.encoder, encoder(), shape["labels"])


def ours(shape: dict[str, Any]) -> Game:
    predictor, energy = networks(shape, is_sparse=True)
    method = METHODS["seal-nce"].with_(n_samples=shape["samples"], warmup=0)
    settings = Settings(clip=None, learning_rate=0.0)  # as many labels are drawn at the last step as at the first
    return Game(predictor, LearnedLoss(method, LabelSpace(shape["labels"]), energy, shape["labels"], settings))


def near_base_rates(predictor: torch.nn.Module, shape: dict[str, Any]) -> None:
    """As a trained predictor is: the number of labels that it samples is what a step costs."""
    head = predictor.get_submodule("head")
    assert isinstance(head, torch.nn.Linear)
    with torch.no_grad():
        head.bias.fill_(torch.logit(torch.tensor(shape["cardinality"] / shape["labels"])))
        head.weight.mul_(0.1)


def measure(name: str, batch: int, steps: int) -> dict[str, Any]:
    shape = SHAPES[name]
    data = sparse_topics(2 * batch, shape["features"], shape["labels"], shape["cardinality"])
    csr = next(batches(Rows(data.X, data.Y), batch))
    dense = next(batches(Rows(sparse.csr_matrix(data.X).toarray(), data.Y), batch))
    game, method = ours(shape), METHODS["seal-nce"]
    published = PublishedStep(*networks(shape, is_sparse=False), shape["samples"], 5.0)
    for predictor in (game.predictor, published.predictor):
        near_base_rates(predictor, shape)
    row: dict[str, Any] = {"shape": name, "batch": batch}
    for who, step in (
        ("ours", lambda: game.play(csr, method.stages[0])),
        ("published", lambda: published.step(dense.x, dense.y)),
    ):
        row |= {f"{who}_step": seconds(step, steps, warm=3), f"{who}_gflop": flops(step) / 1e9}
    fast, slow = copy.deepcopy(game.predictor).eval(), copy.deepcopy(published.predictor).eval()
    with torch.no_grad():
        for who, infer in (
            ("ours", lambda: fast(csr.x)),
            ("published", lambda: published.score(dense.x, torch.sigmoid(slow(dense.x)).unsqueeze(1))),
        ):
            row |= {f"{who}_inference": seconds(infer, steps, warm=3), f"{who}_inference_gflop": flops(infer) / 1e9}
    row["step_ratio"] = row["published_step"] / row["ours_step"]
    row["inference_ratio"] = row["published_inference"] / row["ours_inference"]
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=None)
    parser.add_argument("--steps", type=int, default=30)
    options = parser.parse_args()
    torch.manual_seed(0)
    rate = matmul_rate()
    keep_freed_memory()  # as a fit does
    rows = [
        measure(name, batch, options.steps)
        for name, shape in SHAPES.items()
        for batch in (PUBLISHED_BATCH, cast(Batches, LABELS.budget.batches).size(shape["rows"]))
    ]
    for row in rows:
        mine, theirs = (1e9 * row[f"{who}_gflop"] / row[f"{who}_step"] / rate for who in ("ours", "published"))
        print(
            f"{row['shape']:10s} {row['batch']:4d} rows: step {1e3 * row['ours_step']:7.1f} ms, published "
            f"{1e3 * row['published_step']:7.1f} ms, ratio {row['step_ratio']:4.1f}; GFLOP {row['ours_gflop']:.2f} and "
            f"{row['published_gflop']:.2f}, of the product rate {mine:.0%} and {theirs:.0%}; "
            f"inference ratio {row['inference_ratio']:4.1f}"
        )
    if options.out is not None:
        write_json(options.out, {"environment": environment(), "matmul_gflops": rate / 1e9, "rows": rows})


if __name__ == "__main__":
    main()
