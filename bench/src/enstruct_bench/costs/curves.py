"""How fits and answers grow with the data: seconds of a pass of training and of a prediction, one size changed at a time.

    OMP_NUM_THREADS=1 python -m enstruct_bench.costs.curves [--out results/benchmark-curves.json]

Generated data. A pass is the second epoch of a fit, judging on held-out rows among it; an answer is ``predict`` of the same rows.
Each is the least of two. The exponent b of ``seconds = a size^b`` is that between the two largest sizes, where what does not grow
weighs least, and the page says what it gives at sizes that no machine here holds: on paper, by that power from the largest.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from enstruct import EnergyMultiLabelClassifier, EnergySegmenter, EnergySequenceTagger
from enstruct.data.synthetic import ellipses
from enstruct.environment import environment
from enstruct.files import write_json
from enstruct_bench.comparison.provenance import present_commit
from enstruct_bench.comparison.sparse_topics import sparse_topics

REPEATS = 2
WORDS = 500


class Curve(NamedTuple):
    """``data(size)``: what ``estimator(method)`` is fitted on; ``paper``: a size beyond all measured."""

    what: str
    estimator: Callable[..., Any]
    method: str
    sizes: tuple[int, ...]
    data: Callable[[int], tuple[Any, Any]]
    paper: int


def topics(rows: int = 2000, features: int = 2000, labels: int = 100) -> tuple[Any, Any]:
    data = sparse_topics(rows, features, labels, 3.0)
    return data.X, data.Y


def sentences(tokens: int) -> tuple[Any, Any]:
    """100 sentences of so many tokens, tagged by what word stands before."""
    rng = np.random.default_rng(0)
    words = rng.integers(0, WORDS, (100, tokens))
    tags = np.roll(words, 1, axis=1) % 9
    return [[f"w{word}" for word in row] for row in words], [[f"t{tag}" for tag in row] for row in tags]


CURVES = (
    Curve("rows", EnergyMultiLabelClassifier, "seal-nce", (2000, 4000, 8000, 16_000), lambda n: topics(rows=n), 10**8),
    Curve("features", EnergyMultiLabelClassifier, "seal-nce", (1000, 4000, 16_000, 64_000), lambda n: topics(features=n), 10**7),
    Curve("labels", EnergyMultiLabelClassifier, "seal-nce", (100, 1000, 5000), lambda n: topics(8000, labels=n), 10**6),
    Curve("tokens of a sentence", EnergySequenceTagger, "seal-nce", (10, 20, 40, 80), sentences, 10**4),
    Curve("pixels of a side", EnergySegmenter, "seal-regression-s", (16, 32, 64), lambda n: ellipses(32, n), 10**3),
)


def measured(curve: Curve) -> dict[str, Any]:
    train, answer = [], []
    for size in curve.sizes:
        X, Y = curve.data(size)
        passes, answers = [], []
        for _ in range(REPEATS):
            model = curve.estimator(curve.method, max_epochs=2, n_iter_no_change=2, random_state=0).fit(X, Y)
            passes.append(next(record["seconds"] for record in model.history_ if record["epoch"] == 2))
            begin = time.perf_counter()
            model.predict(X)
            answers.append(time.perf_counter() - begin)
        train.append(min(passes))
        answer.append(min(answers))
    return {
        "what": curve.what,
        "method": curve.method,
        "sizes": curve.sizes,
        "paper": curve.paper,
        "train": train,
        "answer": answer,
    }


def exponent(sizes: list[int], seconds: list[float]) -> float:
    """Between the two largest sizes."""
    return float(np.log(seconds[-1] / seconds[-2]) / np.log(sizes[-1] / sizes[-2]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("results/benchmark-curves.json"))
    parser.add_argument("--only", default=None, help="names of curves, joined by commas")
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # of so few epochs
    rows = []
    for curve in CURVES:
        if options.only is None or curve.what in options.only.split(","):
            rows.append(measured(curve))
            print(rows[-1], flush=True)
            write_json(options.out, {"rows": rows, "environment": environment(), "commit": present_commit()})


if __name__ == "__main__":
    main()
