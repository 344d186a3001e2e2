"""The linear peers that are installed, on one data set: seconds and example-F1.

    python -m enstruct_bench.costs.peers [--data D] [--out F]

All fit the training rows; where a peer gives scores, our decision rules are fitted on the validation rows for them too, so that a
library is not held to its threshold. Peers not installed (group "peers" of pyproject.toml) are named as such. All have as many
threads as torch (`OMP_NUM_THREADS`), but for LibMultiLabel's one-vs-rest, which takes every core of the machine.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier

from enstruct.data.load import load_splits
from enstruct.data.splits import Splits, imputed
from enstruct.decisions.choose import cross_validate, fit_rule, make_rule
from enstruct.environment import environment
from enstruct.errors import EnstructError
from enstruct.estimators.candidates import AVERAGEABLE
from enstruct.estimators.network_classifier import NetworkClassifier
from enstruct.files import write_json
from enstruct.metrics import example_f1

Answer = Callable[[Any], Any]
"""Rows of features -> label sets, or marginals; dense or sparse, as the peer has them."""
Fit = Callable[[Splits], tuple[Answer, Answer]]
"""Trains a peer and returns what predicts its label sets, and its marginals."""


def scikit_learn(splits: Splits) -> tuple[Answer, Answer]:
    model = OneVsRestClassifier(LogisticRegression(solver="liblinear")).fit(splits.train.X, splits.train.Y)
    return model.predict, model.predict_proba


def multilearn(make: str) -> Fit:
    def fit(splits: Splits) -> tuple[Answer, Answer]:
        from skmultilearn.adapt import MLkNN
        from skmultilearn.problem_transform import BinaryRelevance, ClassifierChain

        logistic = LogisticRegression(solver="liblinear")
        model = {"br": BinaryRelevance(logistic), "chain": ClassifierChain(logistic), "knn": MLkNN()}[make]
        model.fit(sparse.lil_matrix(splits.train.X), sparse.lil_matrix(splits.train.Y))
        return model.predict, lambda X: model.predict_proba(X).toarray()

    return fit


def libmultilabel(trainer: str, solver: int = 0) -> Fit:
    """``solver``: LIBLINEAR's number, 0 logistic regression, 1 the support vector machine that is LibMultiLabel's own default."""

    def fit(splits: Splits) -> tuple[Answer, Answer]:
        from libmultilabel import linear

        train = {"one-vs-rest": linear.train_1vsrest, "cost-sensitive": linear.train_cost_sensitive}[trainer]
        X, Y = (sparse.csr_matrix(part, dtype=np.float64) for part in (splits.train.X, splits.train.Y))
        model = train(Y, X, options=f"-s {solver} -B 1 -m {torch.get_num_threads()} -q", verbose=False)

        def scores(X: Any) -> NDArray[np.float64]:
            return np.asarray(linear.predict_values(model, sparse.csr_matrix(X, dtype=np.float64)))

        return lambda X: scores(X) > 0, lambda X: 1 / (1 + np.exp(-scores(X)))

    return fit


def enstruct(method: str) -> Fit:
    def fit(splits: Splits) -> tuple[Answer, Answer]:
        model = NetworkClassifier(method, decision="fixed", random_state=0)
        model.fit(splits.train.X, splits.train.Y, X_val=splits.validation.X, y_val=splits.validation.Y)
        return model.predict, model.predict_proba

    return fit


PEERS = {
    "scikit-learn one-vs-rest": ("sklearn", scikit_learn),
    "scikit-multilearn-ng binary relevance": ("skmultilearn", multilearn("br")),
    "scikit-multilearn-ng classifier chain": ("skmultilearn", multilearn("chain")),
    "scikit-multilearn-ng MLkNN": ("skmultilearn", multilearn("knn")),
    "LibMultiLabel one-vs-rest": ("libmultilabel", libmultilabel("one-vs-rest")),
    "LibMultiLabel cost-sensitive": ("libmultilabel", libmultilabel("cost-sensitive")),
    "enstruct binary-relevance": ("enstruct", enstruct("binary-relevance")),
    "enstruct cross-entropy": ("enstruct", enstruct("cross-entropy")),
    "enstruct seal-nce": ("enstruct", enstruct("seal-nce")),
}


def measure(fit: Fit, splits: Splits) -> dict[str, Any]:
    begin = time.perf_counter()
    predict, marginals = fit(splits)
    fitted = time.perf_counter()
    own = predict(splits.test.X)
    answered = time.perf_counter()
    validation, test = marginals(splits.validation.X), marginals(splits.test.X)
    best = cross_validate(AVERAGEABLE, validation, splits.validation.Y).best()
    rule = fit_rule(make_rule(best), validation, splits.validation.Y, "example-f1", None)
    return {
        "fit_seconds": fitted - begin,
        "predict_seconds": answered - fitted,
        "f1_own_decision": example_f1(splits.test.Y, sparse.csr_matrix(own)),
        "f1_best_rule": example_f1(splits.test.Y, rule.predict(test)),
        "rule": best,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default="bibtex")
    parser.add_argument("--only", default="")
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    wanted = options.only.split(",") if options.only else list(PEERS)
    if unknown := sorted(set(wanted) - set(PEERS)):
        parser.error(f"unknown peers {unknown}; known: {', '.join(PEERS)}")
    measured_on = environment()
    try:
        splits = imputed(load_splits(options.data, 0, None, []))
    except EnstructError as problem:
        raise SystemExit(f"peers: {problem}") from None
    lines = {}
    for name, (package, fit) in PEERS.items():
        if name not in wanted:
            continue
        if find_spec(package) is None:
            print(f"{name:40s} not installed: pip install --group peers")
            continue
        torch.set_num_threads(measured_on["threads"])  # a peer that uses OpenMP too may leave another number
        lines[name] = line = measure(fit, splits)
        scores = f"F1 {100 * line['f1_own_decision']:.1f}, best rule {100 * line['f1_best_rule']:.1f} ({line['rule']})"
        print(f"{name:40s} fit {line['fit_seconds']:7.1f} s  predict {line['predict_seconds']:6.2f} s  {scores}", flush=True)
    if options.out is not None:
        content = {"data": options.data, "environment": measured_on, "lines": lines}
        write_json(options.out, content)


if __name__ == "__main__":
    main()
