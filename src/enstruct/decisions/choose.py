"""Fitting the decision rules on validation rows, and choosing among them.

``auto`` compares rules by their cross-validated score *within* the validation rows (fitted on one
half, applied to the other, both ways), so a rule with many numbers to fit gains nothing by overfitting
them. For example-F1 the rule derived for it, expected-F1 decoding, is kept unless another beats it by more
than one standard error of their paired difference over rows: on a few hundred rows smaller leads are chance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from enstruct.data.rows import as_indicator
from enstruct.decisions.bayes_risk import BayesRisk
from enstruct.decisions.expected_f1 import ExpectedF1
from enstruct.decisions.thresholds import FixedThreshold, GlobalThreshold, PerLabelThresholds, ScaledThreshold, TopK
from enstruct.errors import ConfigError, unknown_name
from enstruct.metrics import get_metric, rowwise_f1

RULES: dict[str, Callable[[], Any]] = {
    "fixed": FixedThreshold,
    "threshold": GlobalThreshold,
    "scaled": ScaledThreshold,
    "top-k": TopK,
    "expected-f1": ExpectedF1,
    "bayes-risk": BayesRisk,
    "per-label": PerLabelThresholds,
}
"""Simplest first: exact ties go to the earlier rule."""
FAVOURITE = "expected-f1"


def make_rule(name: str, posterior: Any = None) -> Any:
    """An unfitted rule; ``posterior`` is what "bayes-risk" decodes through."""
    if name not in RULES:
        raise unknown_name("decision rule", name, [*RULES, "auto"])
    return BayesRisk(posterior) if name == "bayes-risk" else RULES[name]()


def check_one_rule(decision: Any, top_k: int | None) -> None:
    """ConfigError for a prediction that is asked for two rules."""
    if decision is not None and top_k is not None:
        raise ConfigError("decision= and top_k= each name a rule: give one of them.")


def fit_rule(rule: Any, p: NDArray[Any], truth: Any, metric: str, X: Any, weight: Any = None) -> Any:
    """``weight`` (rows,): of the validation rows in the metric, as in training."""
    return rule.fit(p, truth, metric, weight, X=X) if isinstance(rule, BayesRisk) else rule.fit(p, truth, metric, weight)


class Trial:
    """A rule on validation rows: fitted to some of them, and applied to others.

    Rules that decode row by row under several settings remember what they have decoded, whichever rows they are fitted to.
    """

    def __init__(
        self, name: str, p: NDArray[Any], truth: sparse.csr_matrix, metric: str, X: Any, posterior: Any, weight: Any
    ) -> None:
        self._make = partial(make_rule, name, posterior)
        self._p, self._truth, self._metric, self._weight = p, truth, metric, weight
        rule = self._make()
        self._sets = rule.remembered(p, X) if hasattr(rule, "remembered") else None

    def fitted(self, rows: NDArray[np.intp] | None = None) -> Any:
        """The rule fitted to these rows, by default to all."""
        rows = np.arange(len(self._p)) if rows is None else rows
        y, weight = self._truth[rows], None if self._weight is None else self._weight[rows]
        if self._sets is not None:
            return self._make().fit_to(self._sets, rows, y, self._metric, weight)
        return self._make().fit(self._p[rows], y, self._metric, weight)

    def predicted(self, rule: Any, rows: NDArray[np.intp]) -> sparse.csr_matrix:
        """What a rule of :meth:`fitted` makes of these rows."""
        return rule.of(self._sets, rows) if self._sets is not None else rule.predict(self._p[rows])

    def two_fold(self) -> sparse.csr_matrix:
        """Label sets of all rows, each half by the rule fitted to the other."""
        even, odd = np.arange(0, len(self._p), 2), np.arange(1, len(self._p), 2)
        by_odd, by_even = self.fitted(odd), self.fitted(even)  # before any is applied: what is remembered is then all there is
        parts = [self.predicted(by_odd, even), self.predicted(by_even, odd)]
        return sparse.vstack(parts, format="csr")[np.argsort(np.concatenate([even, odd]))]


@dataclass(frozen=True)
class Comparison:
    """``scores``: rule -> score. ``f1``: rule -> (rows,) F1 of each row, where the metric is example-F1. ``weight``: (rows,).
    ``trials``: rule -> what it was compared by."""

    scores: dict[str, float]
    f1: dict[str, NDArray[np.float64]]
    weight: NDArray[np.float64] | None = None
    trials: dict[str, Trial] = field(default_factory=dict, repr=False, compare=False)

    def best(self) -> str:
        order = {name: i for i, name in enumerate(RULES)}
        leader = max(self.scores, key=lambda name: (round(self.scores[name], 9), -order[name]))
        if FAVOURITE not in self.f1 or leader == FAVOURITE:
            return leader
        lead = self.f1[leader] - self.f1[FAVOURITE]
        share = np.full(len(lead), 1 / len(lead)) if self.weight is None else self.weight / self.weight.sum()
        mean, n = float(share @ lead), 1 / float(share @ share)  # so many rows of one weight would be as sure
        error = np.sqrt(share @ (lead - mean) ** 2 / (n - 1)) if n > 1 else np.inf
        return leader if mean > error else FAVOURITE


def cross_validate(
    names: Iterable[str],
    p: NDArray[Any],
    truth: Any,
    metric: str = "example-f1",
    X: Any = None,
    posterior: Any = None,
    weight: Any = None,
) -> Comparison:
    """Each rule's two-fold predictions within the validation rows (two or more), scored."""
    y, score = as_indicator(truth), get_metric(metric)
    scores, f1, trials = {}, {}, {}
    for name in names:
        trials[name] = Trial(name, p, y, metric, X, posterior, weight)
        predicted = trials[name].two_fold()
        scores[name] = score(y, predicted, weight)
        if metric == "example-f1":
            f1[name] = rowwise_f1(y, predicted)
    return Comparison(scores, f1, weight, trials)
