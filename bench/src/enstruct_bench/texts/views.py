"""What to read of texts: models of terms, of an encoder's features and of both side by side, alone and averaged.

    OMP_NUM_THREADS=1 python -m enstruct_bench.texts.views reuters21578 --encoder FOLDER --out results/views-R90.json

The bases are those of the joint's default (and logistic regression on both), cross-fitted on four fifths of the training
documents, and scored twice, each metric by its best rule in cross-validation: on rows that each fold left out, as the default
itself compares them, and, the folds' models averaged, on the other fifth. Test documents are not looked at. ``--layers 1,2,3,6``:
instead support vector machines on terms, a network on features of so many of the encoder's layers, and machines on both.
"""

from __future__ import annotations

import argparse
import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from enstruct import TextEncoder
from enstruct.data.rows import as_indicator
from enstruct.data.splits import holdout, stratified_folds
from enstruct.decisions.choose import cross_validate
from enstruct.environment import environment
from enstruct.estimators.bases import MethodBase, ViewBase, automatic
from enstruct.estimators.cross_fitting import CrossFitted, cross_fit
from enstruct.estimators.texts import ByBoth
from enstruct.estimators.training_table import Table
from enstruct.files import write_json
from enstruct.methods import METHODS
from enstruct_bench.comparison.provenance import present_commit
from enstruct_bench.texts.collections import Documents, load_collection

METRICS = ("micro-f1", "macro-f1", "subset-accuracy")
RULES = ("threshold", "scaled", "expected-f1")
FOLDS = 5


def fitted_views(train: Documents, encoder: TextEncoder, seed: int) -> tuple[ByBoth, list[CrossFitted]]:
    """The reader of texts, and what is fitted on its rows."""
    reader = ByBoth.of(encoder, train.texts)
    table = Table(reader.rows(train.texts), train.Y.astype(np.float32))
    folds = [np.sort(fold) for fold in stratified_folds(as_indicator(train.Y), FOLDS, seed)]
    linear = ViewBase(MethodBase(METHODS["binary-relevance"], "micro-f1"), "both", reader.n_terms)
    bases = [*automatic(table, "micro-f1", encoder, reader.n_terms), linear]
    return reader, [cross_fit(base, table, folds, seed, math.inf, last=True) for base in bases]


def scores(p: Sequence[NDArray[Any]], Y: NDArray[Any]) -> dict[str, float]:
    """Of the mean of these marginals: F1 and exact sets in percent, log-loss in nats a document."""
    mean, truth = np.clip(np.mean(p, axis=0), 0.0, 1.0), as_indicator(Y)
    best = {metric: 100 * max(cross_validate(RULES, mean, truth, metric).scores.values()) for metric in METRICS}
    loss = -np.log(np.clip(np.where(Y == 1, mean, 1 - mean), 1e-4, 1)).sum(1).mean()
    return {**best, "log-loss": float(loss)}


def compared(fitted: Sequence[CrossFitted], X: Any, held: NDArray[Any], train: NDArray[Any]) -> list[dict[str, Any]]:
    """A row for each base and each average of some."""
    answers = [one.answer(X) for one in fitted]
    rows = []
    for n in range(1, len(fitted) + 1):
        for members in itertools.combinations(range(len(fitted)), n):
            names = [fitted[i].base.name for i in members]
            row = {"bases": names, "seconds": sum(fitted[i].seconds for i in members)}
            left_out, other = ([part[i] for i in members] for part in ([one.marginals for one in fitted], answers))
            rows.append(row | {"left out": scores(left_out, train), "held out": scores(other, held)})
    return rows


def by_layers(
    train: Documents, judged: Documents, encoder: TextEncoder, layers: Sequence[int], seed: int
) -> list[dict[str, Any]]:
    """A row for terms, and of each number of layers two: for their features, and for both."""
    rows: list[dict[str, Any]] = []
    folds = [np.sort(fold) for fold in stratified_folds(as_indicator(train.Y), FOLDS, seed)]
    machine, network = (MethodBase(METHODS[name], "micro-f1") for name in ("linear-svm", "cross-entropy"))
    for n in layers:
        reader = ByBoth.of(replace(encoder, layers=n), train.texts)
        table, X = Table(reader.rows(train.texts), train.Y.astype(np.float32)), reader.rows(judged.texts)
        for view in ("encoder", "both") if rows else ("terms", "encoder", "both"):
            base = ViewBase(network if view == "encoder" else machine, view, reader.n_terms)
            row = compared([cross_fit(base, table, folds, seed, math.inf, last=True)], X, judged.Y, train.Y)[0]
            counted = "" if view == "terms" else f", {n} {'layer' if n == 1 else 'layers'}"
            rows.append(row | {"bases": [f"{base.name}{counted}"]})
            print(rows[-1], flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("--encoder", type=Path, required=True)
    parser.add_argument("--max_tokens", type=int, default=256)
    parser.add_argument("--few", type=int, default=None, help="training documents, drawn by the seed (default: all)")
    parser.add_argument("--layers", type=lambda text: [int(n) for n in text.split(",")], default=None)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    collection = load_collection(options.data).train
    train, held = holdout(as_indicator(collection.Y), 0.2, options.seed)
    if options.few is not None:
        train = np.sort(np.random.default_rng(options.seed).permutation(train)[: options.few])
    varies = collection.Y[train].min(0) != collection.Y[train].max(0)
    learnt, judged = (collection.take(part) for part in (train, held))
    learnt, judged = (Documents(part.texts, part.Y[:, varies], part.names) for part in (learnt, judged))
    encoder = TextEncoder(options.encoder, max_tokens=options.max_tokens)
    if options.layers:
        rows = by_layers(learnt, judged, encoder, options.layers, options.seed)
    else:
        reader, fitted = fitted_views(learnt, encoder, options.seed)
        rows = compared(fitted, reader.rows(judged.texts), judged.Y, learnt.Y)
    for row in rows:
        print(
            " + ".join(row["bases"]), {part: {k: round(v, 3) for k, v in row[part].items()} for part in ("left out", "held out")}
        )
    about = {"data": options.data, "encoder": options.encoder.name, "seed": options.seed, "documents": [len(train), len(held)]}
    write_json(options.out, {**about, "rows": rows, "commit": present_commit(), "environment": environment()})


if __name__ == "__main__":
    main()
