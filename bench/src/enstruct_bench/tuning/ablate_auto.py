"""What `auto` should average: methods alone and together, behind docs/auto.md (single settings: `enstruct-bench run ablation`).

    python -m enstruct_bench.tuning.ablate_auto DATA... [--seeds 3] [--only NAME,...] [--store DIR] [--out FILE.json]

Every method is fitted ``--seeds`` times on the training rows; validation rows serve early stopping and decision rules. The
marginals of each fit are kept in ``--store`` (not for the repository), so that finished fits are never made again and averages of
them cost nothing. The file says, for each data set: each method alone (mean over seeds, the rule chosen on validation rows), the
average of its seeds, and averages of several methods, by their cross-validated validation score and their test score.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from enstruct.data.load import load_splits
from enstruct.data.rows import as_indicator
from enstruct.data.splits import Splits, imputed
from enstruct.decisions.choose import cross_validate, fit_rule, make_rule
from enstruct.environment import environment
from enstruct.estimators.candidates import AVERAGEABLE
from enstruct.estimators.members import default_methods
from enstruct.estimators.network_classifier import NetworkClassifier
from enstruct.files import replace_file, write_json
from enstruct.methods import METHODS
from enstruct.metrics import Counts, rowwise_f1
from enstruct_bench.comparison.bootstrap import paired_difference

AVERAGED = (
    *("binary-relevance", "binary-relevance-tfidf", "extra-trees", "cross-entropy", "seal-nce"),
    *("seal-ranking", "deep-mean-field", "infnet+", "nce"),
)
BASELINE = "cross-entropy"
Marginals = dict[str, NDArray[Any]]
"""Of the validation and of the test rows."""


def fit(splits: Splits, method: str, seed: int) -> tuple[dict[str, Any], Marginals]:
    """Record of one fit, and its marginals of the validation and the test rows."""
    model = NetworkClassifier(method=method, random_state=seed)
    begin = time.perf_counter()
    model.fit(splits.train.X, splits.train.Y, X_val=splits.validation.X, y_val=splits.validation.Y)
    seconds = time.perf_counter() - begin
    test = {name: model.predict(splits.test.X, decision=name) for name in model.rules_}
    record = {
        "seed": seed,
        "rule": model.decision_,
        "validation_f1": model.decision_scores_,
        "test_f1": {name: float(rowwise_f1(splits.test.Y, y).mean()) for name, y in test.items()},
        "epochs": model.n_iter_,
        "seconds": seconds,
    }
    return record, {"validation": model.predict_proba(splits.validation.X), "test": model.predict_proba(splits.test.X)}


class Ablation:
    """The fits of one data set, and averages of them."""

    def __init__(self, data: str, store: Path) -> None:
        self.data, self.store = data, store / data
        self.store.mkdir(parents=True, exist_ok=True)
        self.splits = imputed(load_splits(data, 0, None, []))
        self.truth = as_indicator(self.splits.validation.Y)
        self.marginals: dict[tuple[str, int], Marginals] = {}

    def of_counts(self) -> bool:
        """Whether tf-idf means anything on these features."""
        return "binary-relevance-tfidf" in default_methods(self.splits.train.X)

    def fits(self, name: str, seeds: int, allowed: bool) -> list[dict[str, Any]]:
        """Records of the finished fits, new ones made if ``allowed``."""
        seeds = 1 if METHODS[name].solver is not None else seeds
        records = []
        for seed in range(seeds):
            path = self.store / f"{name}-{seed}.npz"
            if not path.exists():
                if not allowed:
                    continue
                record, marginals = fit(self.splits, name, seed)
                halves = {part: p.astype(np.float32) for part, p in marginals.items()}
                replace_file(path, partial(save, record=record, halves=halves))
                print(f"{self.data:10s} {name:24s} {seed}  {record['seconds']:.0f} s  {100 * best(record):.2f}", flush=True)
            with np.load(path) as kept:
                records.append(json.loads(str(kept["record"])))
                self.marginals[name, seed] = {part: kept[part].astype(np.float64) for part in ("validation", "test")}
        return records

    def average(self, names: Sequence[str]) -> tuple[float, str, NDArray[Any]]:
        """Mean over methods of their mean over seeds: (validation score, rule, F1 of each test row)."""
        mean = {
            part: np.mean([np.mean([p[part] for (n, _), p in self.marginals.items() if n == name], 0) for name in names], 0)
            for part in ("validation", "test")
        }
        rules = cross_validate(AVERAGEABLE, mean["validation"], self.truth)
        rule = fit_rule(make_rule(rules.best()), mean["validation"], self.truth, "example-f1", None)
        return max(rules.scores.values()), rules.best(), rowwise_f1(self.splits.test.Y, rule.predict(mean["test"]))

    def averages(self) -> list[dict[str, Any]]:
        """All averages of up to four methods that are fitted, best validation score first, each against BASELINE's."""
        fitted = [name for name in AVERAGED if any(n == name for n, _ in self.marginals)]
        groups = [group for number in (1, 2, 3, 4) for group in combinations(fitted, number)]
        base = self.average((BASELINE,))[2] if BASELINE in fitted else None
        out = []
        for names in groups:
            validation, rule, rows = self.average(names)
            gain = None if base is None else [100 * x for x in paired_difference([Counts.of(base)], [Counts.of(rows)])]
            out.append({"members": list(names), "validation": validation, "rule": rule, "test": rows.mean(), "gain": gain})
        return sorted(out, key=lambda line: -line["validation"])


def best(record: dict[str, Any]) -> float:
    return float(record["test_f1"][record["rule"]])


def save(path: Path, record: dict[str, Any], halves: Marginals) -> None:
    with open(path, "wb") as file:
        np.savez_compressed(file, record=np.array(json.dumps(record)), validation=halves["validation"], test=halves["test"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="+")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", default="")
    parser.add_argument("--store", type=Path, default=Path("ablation"))
    parser.add_argument("--out", type=Path, default=Path("results/ablation-auto.json"))
    options = parser.parse_args()
    wanted = options.only.split(",") if options.only else list(AVERAGED)
    if unknown := sorted(set(wanted) - set(AVERAGED)):
        parser.error(f"unknown methods {unknown}; known: {', '.join(AVERAGED)}")
    for data in options.data:
        ablation = Ablation(data, options.store)
        suited = [name for name in wanted if METHODS[name].scaling != "tfidf" or ablation.of_counts()]
        records = {name: ablation.fits(name, options.seeds, name in suited) for name in AVERAGED}
        content = json.loads(options.out.read_text()) if options.out.exists() else {"sets": {}}
        content["environment"] = environment()
        content["sets"][data] = {
            "rows": {name: len(part) for name, part in ablation.splits.parts().items()},
            "alone": {name: {"runs": runs} for name, runs in records.items() if runs},
            "averages": ablation.averages(),
        }
        write_json(options.out, content)
        for line in content["sets"][data]["averages"][:12]:
            scores = f"{100 * line['validation']:.2f} {100 * line['test']:.2f}"
            print(f"{data:10s}", scores, f"{line['rule']:12s}", " + ".join(line["members"]))


if __name__ == "__main__":
    main()
