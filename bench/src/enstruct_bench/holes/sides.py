"""Who is compared on labels with holes. All are fitted to the same rows and see the same observed cells.

joint           ``JointMultiLabelClassifier`` with its default base; told cells go into its answers
base            the marginals of that base
masked-bce      a network with binary cross-entropy over observed cells, stopped by that of the validation rows'
masked-network  the same network with told cells among its inputs, trained on random masks (C-Tran's training)
boosting        gradient boosted trees, one ensemble a label on the rows where it was observed
linear          logistic regression, likewise

What is told goes into the answers of joint and masked-network; the others answer as if nothing were.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from enstruct.errors import unknown_name
from enstruct.estimators.bases import ObservedBase
from enstruct.estimators.training_table import Table as Observed
from enstruct_bench.joint.fitted_estimators import Estimators
from enstruct_bench.joint.masked_network import fit_masked_network
from enstruct_bench.joint.table import Array
from enstruct_bench.joint.told import nothing_told, random_told

REFERENCE = "joint"
SIDES = (REFERENCE, "base", "masked-bce", "masked-network", "boosting", "linear")

Answer = Callable[[Any, Array], Array]
"""(X, known) -> (rows, labels) p(y = 1 | x, told), whatever of told cells."""


class Side(NamedTuple):
    """``notes``: what its record says beside its figures."""

    answer: Answer
    seconds: float
    notes: dict[str, Any]


def check(name: str) -> None:
    """ConfigError for a name that is no side's."""
    if name not in SIDES:
        raise unknown_name("side", name, SIDES)


def fitted(name: str, estimators: Estimators) -> Side:
    """The side, and the seconds of its fit, those of its base included where others have paid for them."""
    table, seed = estimators.table, estimators.seed
    begin = time.perf_counter()
    if name in ("joint", "base"):
        fit = estimators.fit("") if name == "joint" else estimators.base_alone("")
        joint = fit.estimator
        notes = {"bases": [one.base.name for one in joint.base_], "terms": joint.terms_, "untold": joint.marginals_of_}
        if name == "base":
            return Side(lambda X, known: fit.base(X), fit.base_seconds, notes)
        return Side(lambda X, known: joint.predict_proba(X, known=known), fit.seconds, notes)
    if name == "masked-network":
        asked = fit_masked_network(table, seed, random_told).model
        return Side(asked.marginals, time.perf_counter() - begin, {})
    if name == "masked-bce":
        untold = fit_masked_network(table, seed, lambda Y, rng: nothing_told(*Y.shape)).model
        return Side(lambda X, known: untold.marginals(X, nothing_told(*known.shape)), time.perf_counter() - begin, {})
    base = ObservedBase(name)
    model = base.fit(Observed(table.X, table.Y), None, seed, np.inf)
    return Side(lambda X, known: base.marginals(model, X), time.perf_counter() - begin, {})
