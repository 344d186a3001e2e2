"""Warm starts of a classifier of label sets: what must agree for it to go on with the networks at hand."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np

from enstruct.energies import EnergySpec
from enstruct.errors import ConfigError
from enstruct.estimators.constants import ConstantLabels
from enstruct.estimators.label_format import LabelFormat
from enstruct.estimators.preparation import seen_columns

log = logging.getLogger("enstruct")
ANEW = "Set warm_start=False or make a new estimator."


def continues(estimator: Any) -> bool:
    """Whether ``fit`` trains the networks at hand further; solvers fit anew."""
    return bool(estimator.warm_start) and hasattr(estimator, "predictor_") and estimator._method().solver is None


def built_with(estimator: Any) -> dict[str, Any]:
    """The settings that networks are made of."""
    own = estimator.energy_network
    return {**estimator._architecture(), "energy_network": EnergySpec(**estimator._method().energy) if own is None else own}


def check_width(estimator: Any, X: Any) -> None:
    """ConfigError for another number of features; a sparse layer would take fewer without a word."""
    width: tuple[int, ...] = tuple(getattr(X, "shape", ()))[1:]
    if continues(estimator) and width not in ((), (estimator.n_features_in_,)):
        raise ConfigError(
            f"warm_start=True goes on with networks fitted to {estimator.n_features_in_} features; X has {width[0]}. {ANEW}"
        )


def _same_labels(then: LabelFormat, now: LabelFormat) -> bool:
    """The columns of a data frame have names, those of an array none: there their number must do."""
    half_named = then.kind == now.kind == "indicator" and then.classes.dtype.kind != now.classes.dtype.kind
    return then.n_labels == now.n_labels if half_named else np.array_equal(then.classes, now.classes)


def check_warm_start(estimator: Any, labels: LabelFormat, constants: ConstantLabels, X: Any) -> None:
    """ConfigError for other labels, whose places the outputs would take."""
    if not continues(estimator):
        return
    then, now = estimator.labels_, estimator.constants_
    if not _same_labels(then, labels) or not np.array_equal(now.varying, constants.varying):
        raise ConfigError(
            "warm_start=True goes on with networks fitted to other labels, or to rows in which other labels vary; its outputs "
            f"would stand for others. {ANEW}"
        )
    if estimator.columns_ is not None and (seen := seen_columns(X)) is not None:
        new = len(np.setdiff1d(seen, estimator.columns_))
        if new:
            log.warning("%d features that no row had when the networks were made are left out: fit anew to learn them", new)
