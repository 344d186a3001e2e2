"""The search behind the defaults of the implicit rows, on validation rows only (docs/bilevel.md quotes its file).

    python -m enstruct_bench.tuning.search_implicit [--data bibtex] [--seeds 1] [--epochs 30] [--only NAME,...]
                                         [--out results/search-implicit-bibtex.json]

Each setting is fitted on the training rows for at most ``--epochs`` epochs; the validation rows serve early stopping and scores
alike, so the scores are comparable with each other and with nothing else. Finished fits are kept: running the command again
goes on.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from enstruct.data.load import load_splits
from enstruct.data.splits import Splits, imputed
from enstruct.decisions.thresholds import best_threshold_score
from enstruct.environment import environment
from enstruct.estimators.network_classifier import NetworkClassifier
from enstruct.files import write_json
from enstruct.hypergradients import (
    Alternating,
    ConjugateGradient,
    Diagonal,
    Identity,
    Implicit,
    Neumann,
    ShermanMorrison,
    Unrolled,
)
from enstruct.methods import METHODS, WARM_START_THEN_GAME, Method
from enstruct.metrics import example_f1


def warm(name: str) -> Method:
    """The row from a predictor trained by cross-entropy, whose features and logits the energy begins with, as ``infnet+``."""
    return replace(METHODS[name], stages=WARM_START_THEN_GAME, energy={"features": "copied", "units": 16})


CD: dict[str, Any] = {"method": "implicit-cd", "method__energy_weight": 3.0, "method__sample_gradient": "straight-through"}
SETTINGS: dict[str, dict[str, Any]] = {
    "cross-entropy": {"method": "cross-entropy"},
    "seal-nce": {"method": "seal-nce"},
    "cd": CD,
    "nce implicit": {"method": "seal-nce", "method__coupling": Implicit()},
    "cd score-function": {**CD, "method__sample_gradient": "score-function"},
    "cd alternating": {
        "method": "implicit-cd",
        "method__energy_weight": 3.0,
        "method__coupling": Alternating(update_first="predictor"),
    },
    **{f"cd weight {w}": {**CD, "method__energy_weight": float(w)} for w in (100, 30, 10, 1)},
    "cd identity": {**CD, "method__coupling": Implicit(Identity(1.0))},
    "cd inner steps 3": {**CD, "method__predictor_steps": 3},
    "cd concrete": {**CD, "method__sample_gradient": "concrete"},
    "cd unrolled 1": {**CD, "method__coupling": Unrolled(1)},
    "cd terms 1": {**CD, "method__coupling": Implicit(Neumann(1))},
    "cd terms 20": {**CD, "method__coupling": Implicit(Neumann(20))},
    "cd diagonal": {**CD, "method__coupling": Implicit(Diagonal(), damping=1.0)},
    "cd conjugate gradient": {**CD, "method__coupling": Implicit(ConjugateGradient(5), damping=10.0)},
    "cd gauss-newton": {**CD, "method__coupling": Implicit(hvp="gauss-newton", damping=1.0)},
    "cd gauss-newton conjugate gradient": {**CD, "method__coupling": Implicit(ConjugateGradient(5), "gauss-newton", damping=1.0)},
    "cd sherman-morrison": {**CD, "method__coupling": Implicit(ShermanMorrison(5), damping=10.0)},
    **{f"cd samples {k}": {**CD, "method__n_samples": k} for k in (5, 100)},
    "cd cost hamming-sum": {**CD, "method__cost": "hamming-sum"},
    **{f"ssvm weight {w}": {"method": "implicit-ssvm", "method__energy_weight": float(w)} for w in (3, 30)},
    **{f"dvn weight {w}": {"method": "implicit-dvn", "method__energy_weight": float(w)} for w in (5, 50)},
    "cd warm start": {"method": warm("implicit-cd")},
    **{f"cd warm start weight {w}": {"method": warm("implicit-cd"), "method__energy_weight": float(w)} for w in (30, 10)},
    "ssvm warm start": {"method": warm("implicit-ssvm")},
    "ranking implicit": {"method": "seal-ranking", "method__coupling": Implicit()},
}


def fit(splits: Splits, setting: dict[str, Any], seed: int, epochs: int) -> dict[str, Any]:
    model = NetworkClassifier().set_params(**setting, random_state=seed, max_epochs=epochs)
    model.fit(splits.train.X, splits.train.Y, X_val=splits.validation.X, y_val=splits.validation.Y)
    p, truth = model.predict_proba(splits.validation.X), splits.validation.Y
    ratios = [record["implicit_ratio"] for record in model.history_ if "implicit_ratio" in record]
    return {
        "f1_at_0.5": example_f1(truth, p >= 0.5),
        "f1_tuned": best_threshold_score(p, truth),
        "f1_rule": max(model.decision_scores_.values()),
        "rule": model.decision_,
        "epochs": model.n_iter_,
        "seconds": sum(record["seconds"] for record in model.history_),
        "implicit_ratio": sum(ratios) / len(ratios) if ratios else None,
        "inner_residual": model.history_[-1].get("inner_residual"),
        "solver_failed": sum(record.get("solver_failed", 0.0) for record in model.history_) / model.n_iter_,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="bibtex")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("results/search-implicit-bibtex.json"))
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    splits = imputed(load_splits(options.data, 0, None, []))
    kept = json.loads(options.out.read_text()) if options.out.exists() else {"data": options.data, "fits": {}}
    kept["epochs"] = options.epochs
    kept["environment"] = environment()
    wanted = [name for name in SETTINGS if not options.only or name in options.only.split(",")]
    for seed in range(options.seeds):
        for name in wanted:
            key = f"{name} / seed {seed}"
            if key in kept["fits"]:
                continue
            record = {"setting": str(SETTINGS[name]), **fit(splits, SETTINGS[name], seed, options.epochs)}
            kept["fits"][key] = record
            scores = "  ".join(f"{100 * record[score]:.2f}" for score in ("f1_at_0.5", "f1_tuned", "f1_rule"))
            print(f"{key:40s} {scores}  {record['seconds']:.0f} s  ratio {record['implicit_ratio']}", flush=True)
            write_json(options.out, kept)


if __name__ == "__main__":
    main()
