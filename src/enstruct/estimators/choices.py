"""What the parameters of a label-set classifier may be, said before anything is trained."""

from __future__ import annotations

from typing import Any

from enstruct.errors import ConfigError
from enstruct.estimators.label_format import LabelFormat
from enstruct.estimators.parameters import LABEL_SETS, check_parameters
from enstruct.objectives import Density


def check_choices(estimator: Any) -> None:
    """ConfigError for one that cannot be meant."""
    check_parameters(estimator, LABEL_SETS)
    method = estimator._method()
    if estimator.validation_epochs and method.solver is not None:
        raise ConfigError(f"Method {method.name!r} is fitted by a solver, not in passes: set validation_epochs=0.")
    if estimator.decision == "bayes-risk" and method.density is Density.NONE:
        raise ConfigError(
            f"Minimum-Bayes-risk decoding needs an energy that estimates a density (NCE, ranking); {method.name!r} has none."
        )


def check_decision(estimator: Any, labels: LabelFormat, validates: bool) -> None:
    """ConfigError for a rule that cannot be fitted, or a hierarchy of other labels, before anything is trained."""
    if estimator.hierarchy is not None and estimator.hierarchy.n_labels != labels.n_labels:
        raise ConfigError(f"hierarchy= is one of {estimator.hierarchy.n_labels} labels, and there are {labels.n_labels}.")
    if estimator.decision in ("auto", "fixed") or (validates and labels.kind != "single"):
        return
    single = labels.kind == "single"
    why = "one label a row is decided by argmax" if single else "there are no validation rows to fit it on"
    raise ConfigError(f"decision={estimator.decision!r} cannot be used: {why}.")
