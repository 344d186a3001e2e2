"""The decision rules of a classifier of label sets: fitted on validation rows, chosen among, kept in its folder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from msgspec import to_builtins
from numpy.typing import NDArray

from enstruct.data.rows import Rows
from enstruct.decisions import bayes_risk
from enstruct.decisions.choose import RULES, cross_validate, fit_rule, make_rule
from enstruct.errors import ConfigError, DataError
from enstruct.estimators import saved_values
from enstruct.estimators.label_format import LabelFormat
from enstruct.estimators.posterior import EnergyPosterior
from enstruct.estimators.saved_header import Rules
from enstruct.methods import Method
from enstruct.validation import one_of


@dataclass
class LabelRules:
    """``rules``: by name, fitted; ``decision``: the one in force; ``scores``: of each on validation rows, as far as compared.

    By themselves the rule at 0.5 alone, as without validation rows.
    """

    rules: dict[str, Any] = field(default_factory=lambda: {"fixed": make_rule("fixed")})
    decision: str = "fixed"
    scores: dict[str, float] = field(default_factory=dict)

    @classmethod
    def fit(cls, p: NDArray[Any], validation: Rows, metric: str, decision: str, posterior: EnergyPosterior | None) -> Self:
        """On marginals (rows, labels) of validation rows; ``decision`` "auto" takes the best by cross-validation within them.

        Minimum Bayes risk is among them where there is a ``posterior``, on many labels only if it is asked for.
        """
        samples = posterior is not None and (p.shape[1] <= bayes_risk.MOST_LABELS or decision == "bayes-risk")
        names = [name for name in RULES if name != "bayes-risk" or samples]
        if decision == "auto":
            compared = cross_validate(names, p, validation.Y, metric, validation.X, posterior, validation.weight)
            return cls({name: trial.fitted() for name, trial in compared.trials.items()}, compared.best(), compared.scores)
        rows = p, validation.Y, metric, validation.X, validation.weight
        return cls({name: fit_rule(make_rule(name, posterior), *rows) for name in names}, decision, {})

    def named(self, name: str | None, posterior: Callable[[], EnergyPosterior | None]) -> Any:
        """The rule of that name, by default the one in force. ConfigError for one that was not fitted."""
        name = self.decision if name is None else name
        if not isinstance(name, str) or name not in self.rules:
            one_of("decision rule", RULES)("decision", name)
            needs = "validation rows"
            if name == "bayes-risk":
                needs += (
                    f", an energy that estimates a density, and, beyond {bayes_risk.MOST_LABELS} labels, decision='bayes-risk' "
                    "before fit"
                )
            raise ConfigError(f"The rule {name!r} was not fitted (fitted: {', '.join(self.rules)}); it needs {needs}.")
        rule = self.rules[name]
        if name == "bayes-risk":
            rule.posterior = posterior()
        return rule

    def thresholds(self, n_labels: int) -> NDArray[np.float64] | None:
        """(labels,) of the rule "per-label"; None where it was not fitted."""
        rule = self.rules.get("per-label")
        return None if rule is None else np.broadcast_to(rule.thresholds, n_labels)

    def record(self) -> dict[str, Any]:
        """Their numbers, by name."""
        return {name: saved_values.encode_rule(rule) for name, rule in self.rules.items()}

    @classmethod
    def from_record(cls, record: Rules, decision: str, scores: dict[str, float], n_labels: int) -> Self:
        """The inverse of :meth:`record`. ValueError for rules of another number of labels, or without the one in force."""
        rules = {name: saved_values.decode_rule(make_rule(name), content) for name, content in to_builtins(record).items()}
        if decision not in rules:
            raise ValueError(f"the decision {decision!r} is none of its rules")
        by_label = [rules[name].thresholds for name in ("scaled", "per-label") if name in rules]
        if any(np.shape(thresholds) not in ((), (n_labels,)) for thresholds in by_label):
            raise ValueError(f"its thresholds are not those of {n_labels} labels")
        return cls(rules, decision, scores)


def check_suits(method: Method, decision: str) -> None:
    """ConfigError for a method that has not what the decision, or its own columns, need."""
    if method.validation_epochs and method.solver is not None:
        raise ConfigError(f"Method {method.name!r} is fitted by a solver, not in passes: set validation_epochs=0.")
    if decision == "bayes-risk" and not method.is_density:
        raise ConfigError(
            f"Minimum-Bayes-risk decoding needs an energy that estimates a density (NCE, ranking); {method.name!r} has none."
        )


def check_decision(decision: str, labels: LabelFormat, validation: Rows | None, validation_epochs: int) -> None:
    """ConfigError and DataError for what cannot be, before anything is trained.

    That is a rule that cannot be fitted, or passes over validation rows that are not there.
    """
    single = labels.kind == "single"
    if validation_epochs and validation is None:
        raise ConfigError("validation_epochs needs validation rows: pass X_val and y_val, or early_stopping=True.")
    if validation is not None and len(validation) == 1 and not single and decision == "auto":
        raise DataError(
            "One validation row is too few: one half of them chooses the decision rule for the other. Name one (decision=)."
        )
    if decision in ("auto", "fixed") or (validation is not None and not single):
        return
    why = "one label a row is decided by argmax" if single else "there are no validation rows to fit it on"
    raise ConfigError(f"decision={decision!r} cannot be used: {why}.")
