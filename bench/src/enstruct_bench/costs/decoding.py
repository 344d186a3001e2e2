"""Expected-F1 and minimum-Bayes-risk decoding: ours against their formulas as they stand.

    OMP_NUM_THREADS=1 python -m enstruct_bench.costs.decoding [--out results/benchmark-decoding.json]

Both decode the same thousand rows of marginals, drawn in the shapes of our data sets; the sets they choose must be the same. Ours
sorts the rows by their expected number of labels, takes as many at a time as fit a core's cache, and updates the table of
E[1 / (j + successes)] in place, no further than the sizes still to come need. Minimum-Bayes-risk decoding, of a tenth as many
rows with weighted samples each, works on the labels that a row's samples contain, sorts gains without their order, and looks
up the order for the best size alone.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit

from enstruct.decisions.bayes_risk import minimum_risk
from enstruct.decisions.expected_f1 import HEAD, _tail_inverse, decode
from enstruct.decisions.thresholds import take_labels
from enstruct.environment import environment
from enstruct.files import write_json

SHAPES = {"yeast": (14, 4.2), "bibtex": (159, 2.4), "cal500": (174, 26.0), "spo_FUN": (499, 8.7), "delicious": (983, 19.0)}
ROWS, CHUNK = 1000, 256
WEIGHED, SAMPLES, BATCH = 100, 300, 8
Chunks = Sequence[tuple[sparse.csr_matrix, NDArray[np.float64]]]
"""Samples of BATCH rows, and their log-weights."""


def marginals(labels: int, cardinality: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """(ROWS, labels), rows of different certainty and size."""
    logits = 2 * rng.normal(size=(ROWS, labels)) + 0.6 * rng.normal(size=(ROWS, 1))
    p: NDArray[np.float64] = expit(logits + np.log(cardinality / (labels - cardinality)) - 1.2)
    return p


def by_the_formula(p: NDArray[np.float64]) -> NDArray[Any]:
    """The same sets from whole tables: rows as they come, s_k(j) for every j."""
    chosen = []
    for part in np.array_split(p, np.arange(CHUNK, len(p), CHUNK)):
        order = np.argsort(-part, axis=1, kind="stable")[:, :HEAD]
        ranked = np.take_along_axis(part, order, axis=1)
        tail = np.maximum(part.sum(1) - ranked.sum(1), 0.0)
        rows, T = ranked.shape
        limit = int(min(T, np.ceil(4 * part.sum(1).max()) + 8))
        s = _tail_inverse(tail, 2 * limit + 1 + T)
        tables = [s]
        for k in range(T, 0, -1):
            q = ranked[:, k - 1 : k]
            s = q * s[:, 1:] + (1 - q) * s[:, :-1]
            tables.append(s)
        tables.reverse()
        expected, counts = np.empty((rows, limit + 1)), np.zeros((rows, limit + 2))
        expected[:, 0], counts[:, 0] = np.prod(1 - ranked, axis=1) * np.exp(-tail), 1.0
        for k in range(1, limit + 1):
            q = ranked[:, k - 1 : k]
            counts[:, 1 : k + 1] = counts[:, 1 : k + 1] * (1 - q) + counts[:, :k] * q
            counts[:, :1] *= 1 - q
            expected[:, k] = (counts[:, 1 : k + 1] * 2 * np.arange(1, k + 1) * tables[k][:, k : 2 * k]).sum(1)
        chosen.append(take_labels(order, expected.argmax(1), p.shape[1]).toarray())
    return np.vstack(chosen)


def weighted_samples(p: NDArray[np.float64], rng: np.random.Generator) -> Chunks:
    """Chunks of BATCH rows as a posterior yields them: samples (CSR), log-weights (BATCH, SAMPLES)."""
    return [
        (
            sparse.csr_matrix(
                (rng.random((len(part), SAMPLES, p.shape[1])) < part[:, None]).reshape(-1, p.shape[1]).astype(np.uint8)
            ),
            rng.normal(size=(len(part), SAMPLES)),
        )
        for part in np.array_split(p, np.arange(BATCH, len(p), BATCH))
    ]


def least_risk(chunks: Chunks) -> sparse.csr_matrix:
    return sparse.vstack([minimum_risk(samples, weight) for samples, weight in chunks])


def least_risk_by_the_formula(chunks: Chunks) -> NDArray[np.uint8]:
    """G_k[i] of every label for each size, one row and one size after another."""
    chosen = []
    for samples, log_weight in chunks:
        every = samples.toarray().reshape(*log_weight.shape, -1).astype(np.float32)
        for y, weight in zip(every, np.exp(log_weight), strict=True):
            weight, size = weight / weight.sum(), y.sum(1)
            best, answer = weight[size == 0].sum(), np.zeros(y.shape[1], np.uint8)
            for k in range(1, int(min(y.shape[1], 2 * size.max() + 1)) + 1):
                gains = (2 * weight / (k + size)).astype(np.float32) @ y
                top = np.argsort(-gains, kind="stable")[:k]
                if gains[top].sum() > best:
                    best, answer = gains[top].sum(), np.zeros(y.shape[1], np.uint8)
                    answer[top] = 1
            chosen.append(answer)
    return np.array(chosen)


def seconds(work: Callable[[], object], times: int = 3) -> float:
    taken = []
    for _ in range(times):
        begin = time.perf_counter()
        work()
        taken.append(time.perf_counter() - begin)
    return min(taken)


def measured(name: str, labels: int, cardinality: float) -> Iterator[dict[str, Any]]:
    """A line of each rule."""
    rng = np.random.default_rng(0)
    p = marginals(labels, cardinality, rng)
    chunks = weighted_samples(p[:WEIGHED], rng)
    rules: tuple[tuple[str, Any, Callable[[Any], NDArray[Any]], Callable[[Any], NDArray[Any]]], ...] = (
        ("expected-F1", p, lambda p: decode(p).toarray(), by_the_formula),
        ("minimum-Bayes-risk", chunks, lambda chunks: least_risk(chunks).toarray(), least_risk_by_the_formula),
    )
    for rule, inputs, ours, formula in rules:
        mine, theirs = ours(inputs), formula(inputs)
        line: dict[str, Any] = {
            "rule": rule,
            "shape": name,
            "labels": labels,
            "rows": len(mine),
            "ours": seconds(partial(ours, inputs)),
            "formula": seconds(partial(formula, inputs)),
            "rows_that_differ": int((mine != theirs).any(1).sum()),
        }
        times = line["formula"] / line["ours"]
        print(
            f"{rule:18s} {name:10s} {line['rows']:5d} rows  {line['ours']:.3f} s, by the formula {times:.1f} times as long",
            end="",
        )
        print(f"; {line['rows_that_differ']} rows differ")
        yield line


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("results/benchmark-decoding.json"))
    options = parser.parse_args()
    rows = [line for name, shape in SHAPES.items() for line in measured(name, *shape)]
    content = {"environment": environment(), "rows": rows}
    write_json(options.out, content)


if __name__ == "__main__":
    main()
