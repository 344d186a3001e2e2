"""What counting the predictor's reaction costs: a batch's moves under each coupling, and the FLOPs of one Hessian product.

    python -m enstruct_bench.costs.bilevel_step [--out results/benchmark-bilevel.json]

Shape: bibtex's, batch 32, one predictor and one energy step a batch; mean over the 50 steps that one estimate of a series' scale
serves, the estimate included. The product is counted on dense rows at batch 128 (ANCHORS.md section 4: 0.72 GFLOP).
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from enstruct.data.rows import Rows
from enstruct.encoders import MLP, Predictor
from enstruct.environment import environment
from enstruct.files import write_json
from enstruct.hypergradients import (
    Alternating,
    Bilevel,
    ConjugateGradient,
    Coupling,
    Diagonal,
    Identity,
    Implicit,
    Neumann,
    ShermanMorrison,
    Unrolled,
)
from enstruct.hypergradients.curvature import ExactCurvature, flat
from enstruct.hypergradients.linear_solvers import REFRESH
from enstruct.methods import METHODS
from enstruct.spaces import LabelSpace
from enstruct.training.batches import batches
from enstruct.training.game import Game
from enstruct.training.learned_loss import LearnedLoss
from enstruct.training.settings import Settings
from enstruct_bench.comparison.sparse_topics import sparse_topics
from enstruct_bench.costs.measuring import flops, matmul_rate
from enstruct_bench.costs.training_step import SHAPES, networks

COUPLINGS: dict[str, Coupling] = {
    "alternating": Alternating(update_first="predictor"),
    "neumann 1": Implicit(Neumann(1)),
    "neumann 5": Implicit(Neumann(5)),
    "neumann 5, finite differences": Implicit(Neumann(5), hvp="finite-difference"),
    "conjugate gradient 5": Implicit(ConjugateGradient(5), damping=1.0),
    "diagonal": Implicit(Diagonal(), damping=1.0),
    "sherman-morrison 5": Implicit(ShermanMorrison(5), damping=1.0),
    "identity": Implicit(Identity()),
    "unrolled 1": Unrolled(1),
    "unrolled 5": Unrolled(5),
}


def game(coupling: Coupling, method: str) -> Game:
    shape = SHAPES["bibtex"]
    torch.manual_seed(0)
    predictor, energy = networks(shape, is_sparse=True)
    with torch.no_grad():  # near its base rates, as a trained one is
        predictor.head.bias.fill_(torch.logit(torch.tensor(shape["cardinality"] / shape["labels"])))
        predictor.head.weight.mul_(0.1)
    row = METHODS[method].with_(coupling=coupling, warmup=0)
    return Game(predictor, LearnedLoss(row, LabelSpace(shape["labels"]), energy, shape["labels"], Settings()))


def step_costs(coupling: Coupling, method: str) -> tuple[float, float]:
    """Mean seconds over as many steps as one estimate of the scale serves, after a few to warm up; fresh rows at every step.

    And the GFLOP of one more step.
    """
    shape = SHAPES["bibtex"]
    data = sparse_topics(32 * 20, shape["features"], shape["labels"], shape["cardinality"])
    drawn = list(batches(Rows(data.X, data.Y), 32))
    playing, stage = game(coupling, method), METHODS[method].stages[0]
    for batch in drawn[:3]:
        playing.play(batch, stage)
    begin = time.perf_counter()
    for step in range(REFRESH):
        playing.play(drawn[step % len(drawn)], stage)
    taken = (time.perf_counter() - begin) / REFRESH
    return taken, flops(lambda: playing.play(drawn[0], stage)) / 1e9


def product_flops() -> dict[str, float]:
    """GFLOP of one Hessian-vector product with the first gradient's graph kept, and of a gradient."""
    torch.manual_seed(0)
    predictor = Predictor(MLP(1836, 400, 2, 0.0), 159)
    x, y = torch.randn(128, 1836), (torch.rand(128, 159) < 0.02).float()
    names, theta = zip(*predictor.named_parameters(), strict=True)

    def loss(theta: tuple[Tensor, ...]) -> Tensor:
        logits = torch.func.functional_call(predictor, dict(zip(names, theta, strict=True)), (x,))
        return torch.nn.functional.binary_cross_entropy_with_logits(logits, y, reduction="none").sum(1).mean()

    problem = Bilevel(loss, loss, tuple(theta), ())
    with FlopCounterMode(display=False) as gradient:
        curvature = ExactCurvature(problem)
    v = flat(tuple(p.detach() for p in theta))
    with FlopCounterMode(display=False) as product:
        curvature.product(v)
    return {"gradient": gradient.get_total_flops() / 1e9, "product": product.get_total_flops() / 1e9}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    counted, rate = product_flops(), matmul_rate()
    print(f"GFLOP: gradient {counted['gradient']:.2f}, product {counted['product']:.2f} (reference 0.72)")
    rows: list[dict[str, Any]] = []
    for method in ("implicit-cd", "implicit-ssvm"):
        plain = step_costs(COUPLINGS["alternating"], method)
        for name, coupling in COUPLINGS.items():
            taken, gflop = plain if name == "alternating" else step_costs(coupling, method)
            rows.append(
                {"method": method, "coupling": name, "step": taken, "times_alternating": taken / plain[0], "gflop": gflop}
            )
            print(
                f"{method:14s} {name:30s} {1e3 * taken:7.1f} ms  {taken / plain[0]:5.2f} x alternating, {gflop:.2f} GFLOP",
                flush=True,
            )
    if options.out is not None:
        figures = {"environment": environment(), "matmul_gflops": rate / 1e9, "gflop": counted, "rows": rows}
        write_json(options.out, figures)


if __name__ == "__main__":
    main()
