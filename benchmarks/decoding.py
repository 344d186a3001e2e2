"""Expected-F1 decoding: ours against the recurrence written down as its formula stands.

    OMP_NUM_THREADS=1 python benchmarks/decoding.py [--out results/benchmark-decoding.json]

Both decode the same thousand rows of marginals, drawn in the shapes of our data sets; the sets they choose must be the same. Ours
sorts the rows by their expected number of labels, takes as many at a time as fit a core's cache, and updates the table of
E[1 / (j + successes)] in place, no further than the sizes still to come need.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np
from scipy.special import expit

from enstruct.comparison.run import environment, processor
from enstruct.decisions.expected_f1 import HEAD, _tail_inverse, decode
from enstruct.decisions.thresholds import take_labels
from enstruct.files import replace_file

SHAPES = {"yeast": (14, 4.2), "bibtex": (159, 2.4), "cal500": (174, 26.0), "spo_FUN": (499, 8.7), "delicious": (983, 19.0)}
ROWS, CHUNK = 1000, 256


def marginals(labels, cardinality, rng):
    """(ROWS, labels), rows of different certainty and size."""
    logits = 2 * rng.normal(size=(ROWS, labels)) + 0.6 * rng.normal(size=(ROWS, 1))
    return expit(logits + np.log(cardinality / (labels - cardinality)) - 1.2)


def by_the_formula(p):
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


def seconds(work, times=3):
    taken = []
    for _ in range(times):
        begin = time.perf_counter()
        work()
        taken.append(time.perf_counter() - begin)
    return min(taken)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("results/benchmark-decoding.json"))
    options = parser.parse_args()
    rows = []
    for name, (labels, cardinality) in SHAPES.items():
        p = marginals(labels, cardinality, np.random.default_rng(0))
        differing = int((decode(p).toarray() != by_the_formula(p)).any(1).sum())
        ours, formula = seconds(lambda p=p: decode(p)), seconds(lambda p=p: by_the_formula(p))
        rows.append({"shape": name, "labels": labels, "ours": ours, "formula": formula, "rows_that_differ": differing})
        what = f"{name:10s} {labels:5d} labels"
        print(
            f"{what}  {ours:.3f} s, by the formula {formula:.3f} s, {formula / ours:.1f} times as long; {differing} rows differ"
        )
    content = {"environment": environment() | {"processor": processor()}, "rows_decoded": ROWS, "rows": rows}
    replace_file(options.out, lambda part: part.write_text(json.dumps(content, indent=1), encoding="utf-8"))


if __name__ == "__main__":
    main()
