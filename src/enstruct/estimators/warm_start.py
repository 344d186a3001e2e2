"""Warm starts of a classifier of label sets: what must agree for it to go on with the networks at hand."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np

from enstruct.errors import ConfigError
from enstruct.estimators.constants import ConstantLabels
from enstruct.estimators.features import Features, seen_columns
from enstruct.estimators.label_data import LabelData
from enstruct.estimators.label_format import LabelFormat

log = logging.getLogger("enstruct")
ANEW = "Set warm_start=False or make a new estimator."


def check_width(n_features: int, X: Any) -> None:
    """ConfigError for another number of features; a sparse layer would take fewer without a word."""
    width: tuple[int, ...] = tuple(getattr(X, "shape", ()))[1:]
    if width not in ((), (n_features,)):
        raise ConfigError(f"warm_start=True goes on with networks fitted to {n_features} features; X has {width[0]}. {ANEW}")


def check_same_labels(data: LabelData, labels: LabelFormat, constants: ConstantLabels) -> None:
    """ConfigError for other labels than those of ``data``, whose places the outputs would take.

    The columns of a data frame have names, those of an array none: there their number must do.
    """
    before = data.labels
    half_named = before.kind == labels.kind == "indicator" and before.classes.dtype.kind != labels.classes.dtype.kind
    same = before.n_labels == labels.n_labels if half_named else np.array_equal(before.classes, labels.classes)
    if not same or not np.array_equal(data.constants.varying, constants.varying):
        raise ConfigError(
            "warm_start=True goes on with networks fitted to other labels, or to rows in which other labels vary; its outputs "
            f"would stand for others. {ANEW}"
        )


def as_before(features: Features, before: Features, X: Any) -> Features:
    """The features of rows X for networks that keep their inputs; a word about those that they do not take."""
    seen = seen_columns(X)
    if before.columns is not None and seen is not None and (new := len(np.setdiff1d(seen, before.columns))):
        log.warning("%d features that no row had when the networks were made are left out: fit anew to learn them", new)
    return Features(features.scaler, before.columns)
