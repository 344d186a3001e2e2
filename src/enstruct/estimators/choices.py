"""What the parameters of a label-set classifier may be, said before anything is trained."""

from __future__ import annotations

from typing import Any

from enstruct.checks import check_dropout, check_whole
from enstruct.decisions.choose import RULES
from enstruct.errors import ConfigError, unknown_name
from enstruct.metrics import get_metric
from enstruct.objectives import Density


def check_choices(estimator: Any) -> None:
    """ConfigError for one that cannot be meant."""
    method = estimator._method()
    check_whole(1, hidden=estimator.hidden)
    check_whole(0, layers=estimator.layers)
    check_dropout(estimator.dropout)
    get_metric(estimator.metric)
    check_whole(0, validation_epochs=estimator.validation_epochs)
    check_whole(1, bayes_risk_samples=estimator.bayes_risk_samples)
    if estimator.validation_epochs and method.solver is not None:
        raise ConfigError(f"Method {method.name!r} is fitted by a solver, not in passes: set validation_epochs=0.")
    if estimator.monitor not in ("auto", "fixed"):
        raise unknown_name("monitor", estimator.monitor, ("auto", "fixed"))
    if estimator.decision not in (*RULES, "auto"):
        raise unknown_name("decision rule", estimator.decision, (*RULES, "auto"))
    if estimator.decision == "bayes-risk" and method.density is Density.NONE:
        raise ConfigError(
            f"Minimum-Bayes-risk decoding needs an energy that estimates a density (NCE, ranking); {method.name!r} has none."
        )
