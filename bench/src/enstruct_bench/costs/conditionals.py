"""What a joint costs: training its energy, and what other labels are once half of them are told.

    OMP_NUM_THREADS=1 python -m enstruct_bench.costs.conditionals [--out results/benchmark-conditionals.json]

On real label sets (further ones by --data; those that the file has are kept), with one-vs-rest logistic regression for the base,
or another that stands behind a colon (delicious:cross-entropy): what an energy costs does not depend on what its logits are of. A
thousand rows (rows of the data again where they are fewer) have half of their labels told and are answered to a standard error of
0.01. Beside it stands the arithmetic that the answers take:

    FLOP = sum over rows of chains * sweeps * T * (2 T [pairs] + 10 units)        T free labels that are sampled
         = rows * 2^T * (2 T + 2 T^2 [pairs] + (2 T + 6) units)                   where all states are enumerated
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import torch

from enstruct.baselines.extra_trees import fits_densely
from enstruct.energies.residual import ResidualEnergy
from enstruct.environment import environment
from enstruct.estimators import JointMultiLabelClassifier
from enstruct.files import write_json
from enstruct.joint import Joint, enumeration, gibbs
from enstruct.joint.mean_field import mean_field
from enstruct.training.residual_choice import fit_residual
from enstruct_bench.comparison.protocols import load_protocol
from enstruct_bench.costs.measuring import matmul_rate, seconds
from enstruct_bench.joint.cross_fitted import joint_of
from enstruct_bench.joint.kept_rows import kept_rows
from enstruct_bench.joint.table import Table, table_of
from enstruct_bench.joint.told import random_order, told_share

DATA = ("yeast", "cal500", "bibtex")
ROWS, FINE = 1000, 0.002
CHECKED = 40
"""Rows whose answers are held against those of chains that are stopped at FINE."""


def measured(name: str, table: Table, base: str = "") -> dict[str, Any]:
    """A line: the seconds of the energy's training and of the answers, their arithmetic, their error."""
    base = base or ("binary-relevance" if fits_densely(table.X) else "binary-relevance-tfidf")
    model = JointMultiLabelClassifier(base, folds=5, random_state=0).fit(table.X, table.Y.astype(np.int64))
    fit = model.fitted_on_
    training = seconds(lambda: fit_residual(fit.logits, fit.table.Y, fit.table.weight, fit.folds[0], model.seed_), 1, 0)
    rows = np.resize(np.arange(len(fit.table)), ROWS)
    Y = fit.table.Y[rows]
    joint = joint_of(model.energy_, fit.logits[rows], model.seed_)
    known = torch.as_tensor(told_share(Y, random_order(Y.shape, 0), 0.5))
    answer = seconds(lambda: joint.marginals(known), 3)
    some = torch.arange(min(CHECKED, ROWS))
    coarse, fine = (joint.take(some).marginals(known[some], tolerance) for tolerance in (gibbs.TOLERANCE, FINE))
    free, sweeps, flop = arithmetic(joint, known)
    return {
        "data": name,
        "rows": len(fit.table),
        "labels": Y.shape[1],
        "energy": model.terms_,
        "training": training,
        "answer": answer,
        "sampled": free,
        "sweeps": sweeps,
        "gflop": flop / 1e9,
        "error": float((coarse - fine).square().mean().sqrt()),
    }


@torch.no_grad()
def arithmetic(joint: Joint, known: torch.Tensor) -> tuple[float, float, float]:
    """Free labels that are sampled or enumerated a row, sweeps a row (0: enumerated), and FLOP of all; nothing of an energy
    without couplings, of which mean field is exact."""
    energy = joint.energy
    assert isinstance(energy, ResidualEnergy)
    units = 0 if energy.matrix is None else energy.matrix.shape[1]
    pairs = energy.pairs
    free = sweeps = flop = 0.0
    if not energy.coupled:
        return free, sweeps, flop
    for _, problem, start in joint.problems(known, mean_field(energy, joint.state, known)):
        rows, T = problem.free.shape
        free += float(problem.real.sum())
        if T <= enumeration.MOST_FREE:
            flop += rows * 2**T * (2 * T + 2 * T * T * pairs + (2 * T + 6) * units)
            continue
        done = gibbs.marginals(problem, start, torch.Generator().manual_seed(joint.seed), known.shape[1]).sweeps
        each = (done + problem.burn_in).double()
        sweeps += float(each.sum())
        flop += float(each.sum()) * gibbs.CHAINS * T * (2 * T * pairs + 10 * units)
    return free / len(known), sweeps / len(known), flop


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=",".join(DATA), help="names joined by commas, each with a base or not")
    parser.add_argument("--out", type=Path, default=Path("results/benchmark-conditionals.json"))
    options = parser.parse_args()
    here = environment()  # of all rows of a file
    rows = kept_rows(options.out, environment=here)
    for asked in options.data.split(","):
        name, _, base = asked.partition(":")
        if any(row["data"] == name for row in rows):
            continue
        rows.append(measured(name, table_of(load_protocol(name, "auto", 0, None, [])[0]), base))
        print(rows[-1], flush=True)
        write_json(options.out, {"environment": here, "matmul_gflops": matmul_rate() / 1e9, "rows": rows})


if __name__ == "__main__":
    main()
