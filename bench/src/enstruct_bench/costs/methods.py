"""What every method costs: parameters of its networks, seconds of an epoch, seconds of predicting.

    OMP_NUM_THREADS=1 python -m enstruct_bench.costs.methods [--out results/benchmark-methods.json] [--rows 4437]

Parameters: the published settings of SEAL on each of its data sets (SEAL, Table 11). Seconds: generated rows of bibtex's shape,
as many as it has to train on and to test, our default networks and batches of 32, cost of deciding left out; a method of several
stages has the mean of its epochs (SEAL, Tables 12 and 13; implicit training, Table 5).
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
from torch import nn

from enstruct.energies import EnergySpec
from enstruct.environment import environment
from enstruct.estimators.network_classifier import NetworkClassifier
from enstruct.estimators.networks import build_networks
from enstruct.files import write_json
from enstruct.methods import METHODS
from enstruct_bench.comparison.sparse_topics import sparse_topics
from enstruct_bench.reproduce.seal_settings import PARAMETERS, SEAL_SETTINGS

SHAPES = {
    "bibtex": (1836, 159),
    "delicious": (500, 983),
    "genbase": (1186, 27),
    "cal500": (68, 174),
    "eurlex-ev": (5000, 3993),
    "expr_FUN": (561, 500),
    "spo_FUN": (86, 500),
}
"""Features and labels as the published systems had them: genbase with its numbers of proteins, FUN sets with a root."""
NAMES = (
    *("cross-entropy", "spen", "dvn", "nce", "seal-margin", "seal-regression", "seal-regression-s", "seal-nce", "seal-ranking"),
    *("implicit-ssvm", "implicit-dvn", "implicit-cd"),
)
TEST_ROWS = 1479


def count(network: nn.Module) -> int:
    return sum(p.numel() for p in network.parameters())


def parameters(dataset: str) -> dict[str, Any]:
    """Of predictor and energy; the published counts leave out a bias for each label in both."""
    features, labels = SHAPES[dataset]
    published = SEAL_SETTINGS[dataset]["seal-nce"]
    architecture = {"layers": published.layers, "hidden": published.hidden, "dropout": published.dropout}
    networks = build_networks(
        METHODS["seal-nce"], labels, np.zeros((1, features)), None, EnergySpec(units=published.units), architecture
    )
    ours = [count(network) - labels for network in networks if network is not None]
    return {"data": dataset, "predictor": ours[0], "energy": ours[1], "published": list(PARAMETERS[dataset])}


def seconds(method: str, rows: int) -> dict[str, Any]:
    data = sparse_topics(rows + TEST_ROWS, *SHAPES["bibtex"], 2.4)
    train, test = (slice(0, rows), slice(rows, None))
    model = NetworkClassifier(method, max_epochs=2, early_stopping=False, decision="fixed", random_state=0)
    begin = time.perf_counter()
    model.fit(data.X[train], data.Y[train])
    fitted = time.perf_counter()
    model.predict_proba(data.X[test])
    predicted = time.perf_counter() - fitted
    return {
        "method": method,
        "epoch": (fitted - begin) / model.n_iter_,
        "predict": predicted,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=None)
    parser.add_argument("--rows", type=int, default=4437, help="to train on; bibtex has 4,437")
    options = parser.parse_args()
    sizes = [parameters(dataset) for dataset in SHAPES]
    for line in sizes:
        print(f"{line['data']:10s} predictor {line['predictor']:9,d}, energy {line['energy']:9,d}; published {line['published']}")
    costs = []
    for method in NAMES:
        costs.append(seconds(method, options.rows))
        print(f"{method:18s} {costs[-1]['epoch']:7.2f} s an epoch, prediction {costs[-1]['predict']:6.2f} s", flush=True)
    if options.out is not None:
        content = {
            "environment": environment(),
            "rows": options.rows,
            "test_rows": TEST_ROWS,
            "parameters": sizes,
            "seconds": costs,
        }
        write_json(options.out, content)


if __name__ == "__main__":
    main()
