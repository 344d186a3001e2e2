"""Fitting the decision rules on validation rows, and choosing among them.

``auto`` compares rules by their cross-validated score *within* the validation rows (fitted on one
half, scored on the other, both ways), so a rule with many numbers to fit gains nothing by overfitting
them; the simpler rule wins ties.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from enstruct.data.rows import as_indicator
from enstruct.decisions.bayes_risk import BayesRisk
from enstruct.decisions.expected_f1 import ExpectedF1
from enstruct.decisions.thresholds import FixedThreshold, GlobalThreshold, PerLabelThresholds, TopK
from enstruct.errors import unknown_name
from enstruct.metrics import get_metric

RULES: dict[str, Callable[[], Any]] = {
    "fixed": FixedThreshold,
    "threshold": GlobalThreshold,
    "top-k": TopK,
    "expected-f1": ExpectedF1,
    "bayes-risk": BayesRisk,
    "per-label": PerLabelThresholds,
}
"""Simplest first: ties go to the earlier rule."""


def make_rule(name: str, posterior: Any = None) -> Any:
    """An unfitted rule; ``posterior`` is what "bayes-risk" decodes through."""
    if name not in RULES:
        raise unknown_name("decision rule", name, [*RULES, "auto"])
    return BayesRisk(posterior) if name == "bayes-risk" else RULES[name]()


def fit_rule(rule: Any, p: NDArray[Any], truth: Any, metric: str, X: Any) -> Any:
    return rule.fit(p, truth, metric, X=X) if isinstance(rule, BayesRisk) else rule.fit(p, truth, metric)


def cross_validated_scores(
    names: Iterable[str], p: NDArray[Any], truth: Any, metric: str = "example-f1", X: Any = None, posterior: Any = None
) -> dict[str, float]:
    """Each rule's two-fold score within the validation rows."""
    y, score = as_indicator(truth), get_metric(metric)
    halves = np.arange(len(p)) % 2
    results = {}
    for name in names:
        parts = []
        for held in (0, 1):
            fit, test = np.flatnonzero(halves != held), np.flatnonzero(halves == held)
            rule = make_rule(name, posterior)
            fit_rule(rule, p[fit], y[fit], metric, None if X is None else X[fit])
            predicted = rule.predict(p[test], None if X is None else X[test])
            parts.append(score(y[test], predicted))
        results[name] = float(np.mean(parts))
    return results


def choose(scores: dict[str, float]) -> str:
    """The best rule's name; within 1e-9 the earlier one of ``RULES``."""
    order = {name: i for i, name in enumerate(RULES)}
    return max(scores, key=lambda name: (round(scores[name], 9), -order[name]))
