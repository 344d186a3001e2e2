"""Sides by name: "joint", "base", "base-corrected" (for wrong cells), "copula" and "cleanlab" on the default base or, as
"joint:extra-trees", on a method's marginals; "masked-extra-trees", "masked-network", "chains" and "feedback-prop" by
themselves. Of wrong cells a copula is not asked: its answer given all other labels would take a sampler for every cell."""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

from enstruct.errors import ConfigError, unknown_name
from enstruct.methods import METHODS
from enstruct_bench.joint.chains import fit_chains
from enstruct_bench.joint.feedback_prop import fit_feedback
from enstruct_bench.joint.fitted_estimators import Estimators
from enstruct_bench.joint.masked_network import fit_masked_network
from enstruct_bench.joint.masked_trees import fit_masked_trees
from enstruct_bench.joint.on_a_base import JointModel, JointSide, base_side, fit_copula
from enstruct_bench.joint.sides import Fitted
from enstruct_bench.joint.table import Table

ON_A_BASE = ("joint", "base", "base-corrected", "copula", "cleanlab", "cleanlab-adjusted")
ALONE: dict[str, Callable[[Table, int], Any]] = {
    "masked-extra-trees": fit_masked_trees,
    "masked-network": fit_masked_network,
    "chains": fit_chains,
    "feedback-prop": fit_feedback,
}
DEFAULT = (
    "joint",
    "base",
    "joint:extra-trees",
    "joint:binary-relevance",
    "masked-extra-trees",
    "masked-network",
    "copula",
    "chains",
    "feedback-prop",
    "base-corrected",
    "cleanlab",
    "cleanlab-adjusted",
)


def check(name: str) -> None:
    """ConfigError for a name that is no side's."""
    head, colon, base = name.partition(":")
    if head not in (*ON_A_BASE, *ALONE):
        raise unknown_name("side", head, [*ON_A_BASE, *ALONE])
    if colon and head in ALONE:
        raise ConfigError(f"{head} stands on no base: leave out {colon}{base}.")
    if colon and base not in METHODS:
        raise unknown_name("base", base, METHODS)


def is_missing(name: str) -> bool:
    """Whether the side needs a package that is not installed."""
    return name.startswith("cleanlab") and find_spec("cleanlab") is None


def answers(name: str) -> bool:
    """Whether the side says anything of labels; others only find wrong cells."""
    return not name.startswith(("cleanlab", "base-corrected"))


def finds_wrong_cells(name: str) -> bool:
    return name in ALONE or name.partition(":")[0] in ("joint", "base", "base-corrected", "cleanlab", "cleanlab-adjusted")


def fitted(name: str, estimators: Estimators) -> tuple[Fitted, float]:
    """The side and the seconds of its fit, those of its base included where others have paid for them."""
    head, _, base = name.partition(":")
    begin = time.perf_counter()
    if head in ALONE:
        return ALONE[head](estimators.table, estimators.seed), time.perf_counter() - begin
    if head == "base":
        fit = estimators.base_alone(base)
        return base_side(fit, estimators.table), fit.base_seconds
    fit = estimators.fit(base)
    if head == "joint":
        side = JointSide(JointModel(fit), fit.energy_of(estimators.table.training), estimators.table.held)
        return side, fit.seconds
    begin = time.perf_counter()
    return fit_copula(fit, estimators.table, estimators.seed), fit.base_seconds + time.perf_counter() - begin
