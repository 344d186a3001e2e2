"""What fits take side by side, ours and those of libraries that users have: whole processes, one after another, on the same core.

    python -m enstruct_bench.costs.peers [--data bibtex,diabetes] [--limit 900] [--out F]

Each is a process of its own, from its start to its end: imports, reading, the fit, answers. Threads are bounded from outside, by
the one core that it may run on. Seconds of the clock hold on an idle machine; of the processor, beside other work too. Memory
is the process's peak. All fit the training rows of the first split; decision rules of ours are fitted on the validation rows for
all alike, so that a library is not held to its threshold. A process that takes more than the limit is ended, as the file says.
Peers that are not installed (group "peers" of pyproject.toml, extra "boosting") are named. A file goes on with what it lacks.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from enstruct.cli.tables import say
from enstruct.data.dataset import Dataset
from enstruct.decisions.choose import cross_validate, fit_rule, make_rule
from enstruct.environment import environment
from enstruct.errors import EnstructError
from enstruct.estimators.candidates import AVERAGEABLE
from enstruct.files import write_json
from enstruct.metrics import example_f1
from enstruct_bench.comparison.provenance import present_commit
from enstruct_bench.costs.memory import peak_kib
from enstruct_bench.joint.kept_rows import kept_rows
from enstruct_bench.joint.small_tables import parts_of

LIMIT = 120.0
THREADS = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "MKL", "OPENBLAS", "NUMEXPR", "LOKY_MAX_CPU")}
Answer = Callable[[Any], Any]
"""Rows of features -> label sets, or marginals; dense or sparse, as the peer has them."""
Fit = Callable[[Any, Any, Dataset], tuple[Answer, Answer]]
"""Trains on features and labels, with rows that judge for methods that are given some, and returns what predicts label sets, and
marginals."""


def one_vs_rest(make: Callable[[], Any], dense: bool = False) -> Fit:
    def fit(X: Any, Y: Any, judges: Dataset) -> tuple[Answer, Answer]:
        from sklearn.multiclass import OneVsRestClassifier

        model = OneVsRestClassifier(make()).fit(_dense(X) if dense else X, Y)
        as_read = _dense if dense else _same
        return lambda X: model.predict(as_read(X)), lambda X: model.predict_proba(as_read(X))

    return fit


def logistic() -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(solver="liblinear")


def histogram_boosting() -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(random_state=0)


def lightgbm() -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(random_state=0, verbose=-1)


def extra_trees(X: Any, Y: Any, judges: Dataset) -> tuple[Answer, Answer]:
    from sklearn.ensemble import ExtraTreesClassifier

    model = ExtraTreesClassifier(random_state=0).fit(X, _dense(Y))

    def marginals(X: Any) -> NDArray[np.float64]:
        # a label that all rows have, or none, has a single class
        return np.stack([p @ classes for p, classes in zip(model.predict_proba(X), model.classes_, strict=True)], axis=1)

    return model.predict, marginals


def catboost(X: Any, Y: Any, judges: Dataset) -> tuple[Answer, Answer]:
    from catboost import CatBoostClassifier

    model = CatBoostClassifier(loss_function="MultiLogloss", random_seed=0, verbose=False, allow_writing_files=False)
    model.fit(X, _dense(Y))
    return lambda X: np.asarray(model.predict(X)), lambda X: np.asarray(model.predict_proba(X))


def multilearn(make: str) -> Fit:
    def fit(X: Any, Y: Any, judges: Dataset) -> tuple[Answer, Answer]:
        from skmultilearn.adapt import MLkNN
        from skmultilearn.problem_transform import BinaryRelevance, ClassifierChain

        model = {"br": lambda: BinaryRelevance(logistic()), "chain": lambda: ClassifierChain(logistic()), "knn": MLkNN}[make]()
        model.fit(sparse.lil_matrix(X), sparse.lil_matrix(Y))
        return model.predict, lambda X: model.predict_proba(X).toarray()

    return fit


def libmultilabel(trainer: str, solver: int = 0, C: float = 1.0) -> Fit:
    """``solver``: LIBLINEAR's number, 0 logistic regression, 1 the support vector machine that is LibMultiLabel's own default, as
    ``C`` is."""

    def fit(X: Any, Y: Any, judges: Dataset) -> tuple[Answer, Answer]:
        from libmultilabel import linear

        train = {"one-vs-rest": linear.train_1vsrest, "cost-sensitive": linear.train_cost_sensitive}[trainer]
        features, labels = (sparse.csr_matrix(part, dtype=np.float64) for part in (X, Y))
        model = train(labels, features, options=f"-s {solver} -c {C:g} -B 1 -m 1 -q", verbose=False)

        def scores(X: Any) -> NDArray[np.float64]:
            return np.asarray(linear.predict_values(model, sparse.csr_matrix(X, dtype=np.float64)))

        return lambda X: scores(X) > 0, lambda X: 1 / (1 + np.exp(-scores(X)))

    return fit


def enstruct(method: str) -> Fit:
    def fit(X: Any, Y: Any, judges: Dataset) -> tuple[Answer, Answer]:
        from enstruct.estimators.network_classifier import NetworkClassifier

        model = NetworkClassifier(method, decision="fixed", random_state=0).fit(X, Y, X_val=judges.X, y_val=judges.Y)
        return model.predict, model.predict_proba

    return fit


def default(X: Any, Y: Any, judges: Dataset) -> tuple[Answer, Answer]:
    from enstruct import EnergyMultiLabelClassifier

    model = EnergyMultiLabelClassifier(random_state=0).fit(X, Y)
    return model.predict, model.predict_proba


PEERS: dict[str, tuple[str, Fit]] = {
    "scikit-learn one-vs-rest": ("sklearn", one_vs_rest(logistic)),
    "scikit-learn ExtraTrees": ("sklearn", extra_trees),
    "scikit-learn HistGradientBoosting": ("sklearn", one_vs_rest(histogram_boosting, dense=True)),
    "CatBoost": ("catboost", catboost),
    "LightGBM": ("lightgbm", one_vs_rest(lightgbm)),
    "scikit-multilearn-ng binary relevance": ("skmultilearn", multilearn("br")),
    "scikit-multilearn-ng classifier chain": ("skmultilearn", multilearn("chain")),
    "scikit-multilearn-ng MLkNN": ("skmultilearn", multilearn("knn")),
    "LibMultiLabel one-vs-rest": ("libmultilabel", libmultilabel("one-vs-rest")),
    "LibMultiLabel cost-sensitive": ("libmultilabel", libmultilabel("cost-sensitive")),
    "enstruct binary-relevance": ("enstruct", enstruct("binary-relevance")),
    "enstruct cross-entropy": ("enstruct", enstruct("cross-entropy")),
    "enstruct seal-nce": ("enstruct", enstruct("seal-nce")),
    "enstruct default": ("enstruct", default),
}
"""Name -> (the package that it takes, how it is fitted)."""


def _dense(X: Any) -> NDArray[Any]:
    return np.asarray(X.toarray() if sparse.issparse(X) else X)


def _same(X: Any) -> Any:
    return X


def measure(fit: Fit, parts: dict[str, Dataset]) -> dict[str, Any]:
    """In this process."""
    train, validation, test = (parts[name] for name in ("train", "validation", "test"))
    begin = time.perf_counter()
    predict, marginals = fit(train.X, train.Y, validation)
    fitted = time.perf_counter()
    own = predict(test.X)
    answered = time.perf_counter()
    judged, p = marginals(validation.X), marginals(test.X)
    best = cross_validate(AVERAGEABLE, judged, validation.Y).best()
    rule = fit_rule(make_rule(best), judged, validation.Y, "example-f1", None)
    return {
        "fit_seconds": fitted - begin,
        "predict_seconds": answered - fitted,
        "mib": peak_kib() / 2**10,
        "f1_own_decision": example_f1(test.Y, sparse.csr_matrix(own, dtype=np.uint8)),
        "f1_best_rule": example_f1(test.Y, rule.predict(p)),
        "rule": best,
    }


def apart(data: str, name: str, limit: float) -> dict[str, Any]:
    """In a process of its own, which has the cores of this one."""
    command = [sys.executable, "-W", "ignore", "-m", "enstruct_bench.costs.peers", "--data", data, "--only", name, "--here"]
    row: dict[str, Any] = {"data": data, "side": name, "limit": limit}
    begin, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    settings: dict[str, Any] = {"env": {**os.environ, **THREADS}, "timeout": limit, "capture_output": True, "text": True}
    try:
        done = subprocess.run(command, check=False, **settings)
    except subprocess.TimeoutExpired:
        return row
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        raise SystemExit(f"peers: {name} on {data} ended with status {done.returncode}: {done.stderr.strip()[-200:]}")
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {**row, "seconds": time.perf_counter() - begin, "processor_seconds": used, **json.loads(done.stdout.splitlines()[-1])}


def said(row: dict[str, Any]) -> str:
    what = f"{row['data']:10s} {row['side']:38s}"
    if "seconds" not in row:
        return f"{what} more than {row['limit']:.0f} s"
    return (
        f"{what} whole {row['seconds']:6.1f} s  fit {row['fit_seconds']:6.1f} s  {row['mib']:5.0f} MiB  "
        f"F1 {100 * row['f1_own_decision']:.1f}, best rule {100 * row['f1_best_rule']:.1f} ({row['rule']})"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="bibtex,diabetes", help="names of data sets, joined by commas")
    parser.add_argument("--only", default="", help="sides, joined by commas (default: all)")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds that a process may take")
    parser.add_argument("--here", action="store_true", help="measure one side in this process, and print its figures")
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    wanted = options.only.split(",") if options.only else list(PEERS)
    if unknown := sorted(set(wanted) - set(PEERS)):
        parser.error(f"unknown peers {unknown}; known: {', '.join(PEERS)}")
    if options.here:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            print(json.dumps(measure(PEERS[wanted[0]][1], parts_of(options.data, 0))))
        return
    cores = os.sched_getaffinity(0)
    missing = [name for name in wanted if find_spec(PEERS[name][0]) is None]
    for name in missing:
        say(f"{name}: not installed")
    rows = kept_rows(options.out)
    try:
        for data in options.data.split(","):
            parts_of(data, 0)  # an error of its own where it is not there
            os.sched_setaffinity(0, {min(cores)})
            for name in wanted:
                if name in missing or any((row["data"], row["side"]) == (data, name) for row in rows):
                    continue
                rows.append(apart(data, name, options.limit) | {"commit": present_commit()})
                say(said(rows[-1]))
                if options.out is not None:
                    write_json(options.out, {"rows": rows, "environment": environment() | {"threads": 1}})
    except EnstructError as problem:
        raise SystemExit(f"peers: {problem}") from None
    finally:
        os.sched_setaffinity(0, cores)


if __name__ == "__main__":
    main()
