"""Hierarchies of labels by the protocol of the published systems: how well are all labels ranked, and are the answers closed?

    OMP_NUM_THREADS=1 python -m enstruct_bench.joint.hierarchies spo_FUN --seeds 5 --out results/hierarchies-spo_FUN.json

C-HMCNN's protocol (Giunchiglia and Lukasiewicz 2020): the published training and validation parts together, missing cells at
their means, standardised; the official test part; AU(PRC), the area under the precision-recall curve of all cells.
Every side has ``rules=`` of the data's hierarchy. What is chosen, numbers of epochs, leaves of trees, bases, is chosen within the
training rows, by the side itself. "semantic-loss" is the cross-entropy network that learns to keep the hierarchy (``rule_weight``
1, chosen among 0, 0.3, 1, 3 and 10 on the published validation parts of cellcycle_FUN and spo_FUN). "pishield" is PiShield's
layer (1.0.0, extra ``hierarchies``) on the marginals of the same cross-entropy network without rules; its label sets are by the
best decision rule for example-F1 of what comes out of the layer on the network's validation rows. Runs that the file has are
not run again.
"""

from __future__ import annotations

import argparse
import logging
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics import average_precision_score
from sklearn.preprocessing import StandardScaler

from enstruct.data.catalogue import CATALOGUE
from enstruct.data.dataset import Dataset, same_columns
from enstruct.data.hierarchy import Hierarchy
from enstruct.data.impute import fill_missing, training_means
from enstruct.data.load import read_part
from enstruct.data.rows import Rows, as_indicator
from enstruct.data.splits import stratified_folds
from enstruct.environment import environment
from enstruct.estimators import EnergyMultiLabelClassifier
from enstruct.estimators.label_rules import LabelRules
from enstruct.files import write_json
from enstruct.methods import METHODS, Method
from enstruct.rules import RuleSystem
from enstruct_bench.comparison.provenance import present_commit
from enstruct_bench.joint.kept_rows import kept_rows

log = logging.getLogger(__name__)
Array = NDArray[Any]
FOLDS = 5
"""Of which the first validates pishield's network and chooses the rule of its answers."""


def parts_of(name: str) -> tuple[Array, Array, Array, Array, Hierarchy, tuple[str, ...]]:
    """(X, Y, test X, test Y, hierarchy, names of the labels) of a catalogue's name, all rows."""
    entry = CATALOGUE[name]
    train, valid, test = (read_part(entry, part) for part in ("train", "valid", "test"))
    valid, test = same_columns(train, valid), same_columns(train, test)
    if train.hierarchy is None:
        raise SystemExit(f"{name} has no hierarchy.")
    X = np.vstack([_dense(train), _dense(valid)])
    means = training_means(X)
    scaler = StandardScaler().fit(fill_missing(X, means))
    inside, outside = (scaler.transform(fill_missing(part, means)).astype(np.float32) for part in (X, _dense(test)))
    Y = sparse.vstack([train.Y, valid.Y]).toarray()
    return inside, Y, outside, test.Y.toarray(), train.hierarchy, tuple(train.label_names)


def _dense(data: Dataset) -> Array:
    return np.asarray(data.X.toarray() if sparse.issparse(data.X) else data.X, dtype=np.float64)


Fitted = tuple[Callable[[Array], Array], Callable[[Array], Array]]
"""(marginals, label sets)."""


def of_method(method: str | Method) -> Callable[[Array, Array, Hierarchy, int], Fitted]:
    def fit(X: Array, Y: Array, hierarchy: Hierarchy, seed: int) -> Fitted:
        model = EnergyMultiLabelClassifier(method, rules=hierarchy, random_state=seed).fit(X, Y)
        return model.predict_proba, lambda new: np.asarray(model.predict(new))

    return fit


def shielded(X: Array, Y: Array, hierarchy: Hierarchy, seed: int) -> Fitted:
    """PiShield's layer on a cross-entropy network."""
    from pishield.shield_layer import build_shield_layer

    held = stratified_folds(as_indicator(Y), FOLDS, seed)[0]
    train = np.setdiff1d(np.arange(len(Y)), held)
    model = EnergyMultiLabelClassifier("cross-entropy", random_state=seed).fit(X[train], Y[train], X_val=X[held], y_val=Y[held])
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "requirements.txt"
        file.write_text("\n".join(f"y_{above} or not y_{below}" for above, below in hierarchy.edges if above != below))
        layer = build_shield_layer(Y.shape[1], str(file), ordering_choice="degree", requirements_type="propositional")

    def marginals(new: Array) -> Array:
        p = torch.as_tensor(model.predict_proba(new), dtype=torch.float32)
        return np.concatenate([layer(block).numpy() for block in p.split(64)])

    rules = LabelRules.fit(marginals(X[held]), Rows(X[held], as_indicator(Y[held])), "example-f1", "auto", None)
    return marginals, lambda new: np.asarray(rules.rules[rules.decision].predict(marginals(new)).toarray())


SIDES: dict[str, Callable[[Array, Array, Hierarchy, int], Fitted]] = {
    "joint": of_method("joint"),
    "extra-trees": of_method("extra-trees"),
    "cross-entropy": of_method("cross-entropy"),
    "semantic-loss": of_method(METHODS["cross-entropy"].with_(rule_weight=1.0)),
    "pishield": shielded,
}
SKIPPED = ("GO0003674", "GO0005575", "GO0008150")
"""The three parts of the gene ontology, which that code leaves out of the area: nearly every gene is in each of them."""
PUBLISHED = {"spo_FUN": 0.215, "spo_GO": 0.382, "cellcycle_FUN": 0.255, "cellcycle_GO": 0.413}
"""AU(PRC) of C-HMCNN, from the paper's table."""


def measured(side: str, name: str, seed: int) -> dict[str, Any]:
    X, Y, new, truth, hierarchy, names = parts_of(name)
    counted = np.array([label.replace(":", "") not in SKIPPED for label in names])
    system = RuleSystem.of(hierarchy, range(Y.shape[1]))
    begin = time.perf_counter()
    marginals, sets = SIDES[side](X, Y, hierarchy, seed)
    fitted = time.perf_counter()
    p, chosen = np.asarray(marginals(new), dtype=np.float64), sets(new)
    above, below = system.implied.T.nonzero()
    return {
        "side": side,
        "seed": seed,
        "auprc": float(average_precision_score(truth[:, counted].ravel(), p[:, counted].ravel())),
        "exact": float((chosen == truth).all(1).mean()),
        "rows_broken": int((~system.are_kept(chosen)).sum()),
        "marginals_broken": int((p[:, below] > p[:, above] + 1e-6).sum()),
        "fit_seconds": fitted - begin,
        "answer_seconds": time.perf_counter() - fitted,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("--sides", default=",".join(SIDES))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    rows = kept_rows(options.out, data=options.data)
    for side in options.sides.split(","):
        if side == "pishield" and find_spec("pishield") is None:
            print("pishield is left out: pip install pishield")
            continue
        for seed in range(options.seeds):
            if any((row["side"], row["seed"]) == (side, seed) for row in rows):
                continue
            rows.append(measured(side, options.data, seed) | {"commit": present_commit()})
            print(rows[-1], flush=True)
            content = {"data": options.data, "published": PUBLISHED.get(options.data), "rows": rows}
            write_json(options.out, {**content, "environment": environment()})


if __name__ == "__main__":
    main()
