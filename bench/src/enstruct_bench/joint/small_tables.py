"""The default against single models on small tables of real measurements that nothing was chosen on: scikit-learn's own.

    OMP_NUM_THREADS=1 python -m enstruct_bench.joint.small_tables [--seeds 3] [--out results/joint-small-tables.json]

Labels are made of columns that scikit-learn has as features or targets; rows without any label stay, and are many in two of them:

    digits    pixels -> which strokes of a seven-segment display the digit lights, whether it is even, prime, above four
    breast    mean measurements of cell nuclei -> which of the worst ones are in their upper quarter
    wine      six measurements -> which of the other seven are above their median, and the cultivar
    diabetes  four measurements and the progression -> which blood values are in their upper third
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn import datasets

from enstruct.data.splits import places_60_20_20
from enstruct.environment import environment
from enstruct.files import write_json
from enstruct_bench.comparison.printed import show
from enstruct_bench.comparison.results_file import Cell
from enstruct_bench.joint.figures import measured
from enstruct_bench.joint.fitted_estimators import Estimators
from enstruct_bench.joint.summary import COLUMNS, DIFFERENCES, differences_of, rows_of, summarise
from enstruct_bench.joint.table import Array, Table, varying_of

SINGLE = ("binary-relevance", "extra-trees", "boosting", "lightgbm", "catboost", "cross-entropy")
STROKES = ("abcdef", "bc", "abdeg", "abcdg", "bcfg", "acdfg", "acdefg", "abc", "abcdefg", "abcdfg")
"""What a seven-segment display lights for each digit."""


def digits() -> tuple[Array, Array]:
    data = datasets.load_digits()
    of_digit = [[*(stroke in lit for stroke in "abcdefg"), d % 2 == 0, d in (2, 3, 5, 7), d > 4] for d, lit in enumerate(STROKES)]
    return data.data, np.array(of_digit)[data.target]


def breast() -> tuple[Array, Array]:
    X = datasets.load_breast_cancer().data
    return X[:, :10], X[:, 20:] > np.quantile(X[:, 20:], 0.75, axis=0)


def wine() -> tuple[Array, Array]:
    data = datasets.load_wine()
    above = data.data[:, 6:] > np.median(data.data[:, 6:], axis=0)
    return data.data[:, :6], np.hstack([above, data.target[:, None] == np.arange(3)])


def diabetes() -> tuple[Array, Array]:
    data = datasets.load_diabetes()
    return np.column_stack([data.data[:, :4], data.target]), data.data[:, 4:] > np.quantile(data.data[:, 4:], 2 / 3, axis=0)


TABLES: dict[str, Callable[[], tuple[Array, Array]]] = {"digits": digits, "breast": breast, "wine": wine, "diabetes": diabetes}


def table_of(name: str, seed: int) -> Table:
    """60/20/20 by the seed, all rows."""
    X, Y = (np.asarray(side, dtype=np.float32) for side in TABLES[name]())
    train, held, test = places_60_20_20(len(X), seed, name, "rows")
    both, varying = np.concatenate([train, held]), varying_of(Y[train])
    return Table(X[both], Y[both][:, varying], np.arange(len(train), len(both)), X[test], Y[test][:, varying])


def compared(name: str, seeds: int, minutes: float) -> dict[tuple[str, int], Cell]:
    cells = {}
    for seed in range(seeds):
        estimators = Estimators(table_of(name, seed), seed, minutes=minutes)
        for method in ("joint", *(f"base:{single}" for single in SINGLE)):
            cells[method, seed] = measured(method, estimators, ("told",))
            print(name, seed, method, f"{100 * cells[method, seed].record['score']['f1']:.2f}", flush=True)
    return cells


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--minutes", type=float, default=3.0, help="of the default")
    parser.add_argument("--out", type=Path, default=Path("results/small-tables.json"))
    options = parser.parse_args()
    here, summaries = environment(), {}
    for name in TABLES:
        cells = compared(name, options.seeds, options.minutes)
        show(name, ["method", *COLUMNS.values()], rows_of(cells), "", here)
        show(name, ["method", *DIFFERENCES.values()], differences_of(cells, "joint"), "Differences to joint, 95%.", here)
        summaries[name] = summarise(cells, "joint")
    content: dict[str, Any] = {"environment": here, "seeds": options.seeds, "minutes": options.minutes, "tables": summaries}
    write_json(options.out, content)


if __name__ == "__main__":
    main()
