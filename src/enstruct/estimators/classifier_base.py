"""``ClassifierBase``: a classifier of scikit-learn's as the model under an energy, and what its probabilities must be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection._search import BaseSearchCV
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from enstruct.errors import ConfigError, EnstructError, shortened, shown
from enstruct.estimators.training_table import Table

MOST_REPEATED = 10_000_000
"""Rows, with their copies, that a classifier which takes no weights is given."""


@dataclass(frozen=True)
class ClassifierBase:
    """A classifier of scikit-learn's: of label sets, or (``per_label``) of one label, of which each label gets a copy that sees
    the rows where it was observed."""

    estimator: Any
    per_label: bool = False
    refits: bool = True
    chooses: bool = False
    heeds: bool = False

    @property
    def name(self) -> str:
        return type(self.estimator).__name__

    def fit(self, train: Table, left_out: Table | None, seed: int, deadline: float, like: Any = None) -> Any:
        if not self.per_label:
            return _fitted(_seeded(clone(self.estimator), seed), train.X, train.Y.astype(np.int64), train.weight)
        return [self._fit_label(train, label, seed) for label in range(train.Y.shape[1])]

    def _fit_label(self, train: Table, label: int, seed: int) -> Any:
        observed = np.flatnonzero(~np.isnan(train.Y[:, label]))
        y = train.Y[observed, label]
        if len(np.unique(y)) < 2:  # one value, or none: its share in the rows seen
            return float((y.sum() + 0.5) / (len(y) + 1))
        weight = None if train.weight is None else train.weight[observed]
        X = train.X if len(observed) == len(train) else train.X[observed]
        model = _seeded(clone(self.estimator), seed)
        if type(innermost(model)).__module__.startswith("sklearn."):
            return _fitted(model, X, y.astype(np.int64), weight)
        try:
            return _fitted(model, X, y.astype(np.int64), weight)
        except (LookupError, AttributeError, TypeError, ValueError) as error:
            if isinstance(error, EnstructError):
                raise
            raise ConfigError(
                f"base=: {self.name}.fit fails on one label, y of 0 and 1 (rows,): {shortened(str(error), 100)}. One of label "
                "sets must say so: classifier_tags.multi_label = True in its __sklearn_tags__."
            ) from error

    def marginals(self, model: Any, X: Any) -> NDArray[np.float64]:
        if not self.per_label:
            return probabilities_of(model, X)
        n = X.shape[0]
        return np.stack([np.full(n, one) if isinstance(one, float) else probability_of(one, X) for one in model], axis=1)


def _seeded(model: Any, seed: int) -> Any:
    names = [name for name in model.get_params() if name == "random_state" or name.endswith("__random_state")]
    return model.set_params(**dict.fromkeys(names, seed))


def _fitted(model: Any, X: Any, Y: Any, weight: Any) -> Any:
    """To rows of these weights; of a classifier that takes none rows come several times, as copies that were merged did.

    ConfigError where the weights are no counts.
    """
    if weight is None:
        return model.fit(X, Y)
    if (name := _name_of_weights(model)) is not None:
        try:
            return model.fit(X, Y, **{name: weight})
        except (TypeError, ValueError) as error:  # what it wraps takes none, which some say only now
            if "weight" not in str(error):
                raise
    times = _as_counts(weight)
    if times is None:
        raise ConfigError(
            f"base=: {type(innermost(model)).__name__} takes no sample_weight, and these are no counts by which rows could be "
            "repeated: leave sample_weight out, or take a base that heeds it."
        )
    rows = np.repeat(np.arange(len(weight)), times)
    return model.fit(X[rows], Y[rows])


def _name_of_weights(model: Any) -> str | None:
    """What ``fit`` takes weights as: a pipeline hands them to its last step, a search to what it fits. None: it takes none."""
    if isinstance(model, Pipeline):
        name, step = model.steps[-1]
        inner = _name_of_weights(step)
        return None if inner is None else f"{name}__{inner}"
    if isinstance(model, BaseSearchCV):
        return _name_of_weights(model.estimator)
    if isinstance(model, MultiOutputClassifier) and _name_of_weights(model.estimator) is None:
        return None
    return "sample_weight" if has_fit_parameter(model, "sample_weight") else None


def _as_counts(weight: NDArray[np.float64]) -> NDArray[np.intp] | None:
    """(rows,) whole numbers in these proportions, of at most ``MOST_REPEATED`` rows in all; None where there are none."""
    for least in range(1, 11):
        counts = weight * (least / weight[weight > 0].min(initial=np.inf))
        whole = np.rint(counts)
        if np.allclose(counts, whole, rtol=0, atol=1e-6) and whole.sum() <= MOST_REPEATED:
            return whole.astype(np.intp)
    return None


def probabilities_of(model: Any, X: Any) -> NDArray[np.float64]:
    """(rows, labels) of a fitted classifier's ``predict_proba``: one array, or scikit-learn's list of (rows, 2), one a label.

    ConfigError for probabilities of another shape.
    """
    p = _predicted(model, X)
    if isinstance(p, list):
        columns = []
        for one, classes in zip(p, map(np.asarray, model.classes_), strict=True):
            if not np.isin(classes, (0, 1)).all():
                raise _of_other_classes(model, classes)
            present = np.flatnonzero(classes == 1)
            columns.append(one[:, present[0]] if len(present) else np.zeros(len(one)))
        p = np.stack(columns, axis=1)
    p = np.asarray(p.toarray() if sparse.issparse(p) else p, dtype=np.float64)
    if p.ndim != 2 or len(p) != X.shape[0]:
        raise ConfigError(f"base=: {type(model).__name__}.predict_proba must give probabilities (rows, labels), not {p.shape}.")
    return checked(p, f"{type(model).__name__}.predict_proba")


def probability_of(model: Any, X: Any) -> NDArray[np.float64]:
    """(rows,) of the label that a fitted classifier of one label has learnt. ConfigError for other classes than 0 and 1, and for
    probabilities of another shape."""
    classes = np.asarray(getattr(model, "classes_", (0, 1)))
    if classes.shape != (2,) or not np.array_equal(classes, (0, 1)):
        raise _of_other_classes(model, classes)
    p = np.asarray(_predicted(model, X), dtype=np.float64)
    if p.shape != (X.shape[0], 2):
        raise ConfigError(f"base=: {type(model).__name__}.predict_proba must give ({X.shape[0]}, 2), no and yes, not {p.shape}.")
    return checked(p[:, 1], f"{type(model).__name__}.predict_proba")


def _of_other_classes(model: Any, classes: NDArray[Any]) -> ConfigError:
    return ConfigError(
        f"base=: {type(model).__name__} was taught 0 and 1, and has the classes {shown(classes.tolist(), 60)}: it must keep "
        "those that it is given."
    )


def _predicted(model: Any, X: Any) -> Any:
    if not hasattr(model, "predict_proba"):  # of some that is only seen once they are fitted
        raise ConfigError(f"base=: {type(model).__name__} gives no probabilities: it needs predict_proba (calibrate it first).")
    return model.predict_proba(X)


def checked(p: NDArray[np.float64], said_by: str) -> NDArray[np.float64]:
    """ConfigError for what is no probability."""
    wrong = ~((p >= 0) & (p <= 1))
    if wrong.any():
        at = tuple(np.argwhere(wrong)[0].tolist())
        raise ConfigError(f"base=: {said_by} gives {p[at]:g} in row {at[0]}: probabilities lie between 0 and 1.")
    return p


def takes_label_sets(classifier: Any) -> bool:
    """Whether its tags say so; of one that wraps another it is not the other that counts (a calibrated forest takes one label),
    but for searches and pipelines, which hand labels on as they are."""
    tags = get_tags(innermost(classifier))
    return bool((tags.classifier_tags is not None and tags.classifier_tags.multi_label) or tags.target_tags.multi_output)


def innermost(classifier: Any) -> Any:
    """What pipelines and searches hand labels on to."""
    if isinstance(classifier, Pipeline):
        return innermost(classifier.steps[-1][1])
    return innermost(classifier.estimator) if isinstance(classifier, BaseSearchCV) else classifier
