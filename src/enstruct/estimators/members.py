"""What the automatic classifier averages: its methods, their settings, classifiers without rules, the end of its budget."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from enstruct.baselines.extra_trees import fits_densely
from enstruct.data.rows import Rows
from enstruct.data.splits import stratified_folds
from enstruct.errors import ConfigError, ConstantLabelWarning, DataError
from enstruct.estimators.features import weighable
from enstruct.estimators.label_format import LabelFormat
from enstruct.estimators.network_classifier import NetworkClassifier
from enstruct.estimators.parameters import AUTOMATIC, LABEL_SETS, check_parameters
from enstruct.estimators.renamed import check_not_renamed
from enstruct.methods import METHODS
from enstruct.training.callbacks import Callback
from enstruct.validation import one_of

if TYPE_CHECKING:
    from enstruct.training.loop import Loop

LINEAR, LINEAR_ON_COUNTS, FOREST = "binary-relevance", "binary-relevance-tfidf", "extra-trees"
TRAINED = ("cross-entropy", "seal-nce")
CONSIDERED = (LINEAR, FOREST, *TRAINED)
"""By default, with the linear model's kin."""
WEIGHTS = (1 / 3, 1.0)
"""Of the energy's weight in the predictor's loss, in parts of the method's: which is better differs between data sets."""
Part = Callable[[], tuple[Rows, Rows]]
"""What a round trains on and what it holds out, made when it comes."""
CHOSEN_HERE = {"method", "metric", "random_state", "callbacks", "decision", "warm_start", "early_stopping", "validation_fraction"}
"""Parameters of members that are this estimator's to set."""


class Member(NetworkClassifier):
    """A classifier whose marginals alone are wanted: it fits no decision rules, which on a thousand labels take a while."""

    _fits_rules = False

    def fit_as(self, labels: LabelFormat, train: Rows, validation: Rows, like: Member | None = None) -> Self:
        """``fit`` on these rows; of one label a row with all classes of ``labels``, whichever of them the rows have.

        What the solver of ``like``, a member of the same method on other rows, chose is not chosen anew.
        Rows held out count by their weights, as copies of a row would. That a label does not vary among some of the rows is
        nothing that whoever gave all of them could mend: no warning says so.
        """
        self._validation_weight = validation.weight
        self._solver_settings = {} if like is None else getattr(like.predictor_, "chosen", {})
        single = labels.kind == "single"
        y, y_val = (labels.decode(rows.Y) if single else rows.Y for rows in (train, validation))
        if single:
            self._classes = labels.classes
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConstantLabelWarning)
            return self.fit(train.X, y, train.weight, X_val=validation.X, y_val=y_val)


def check_automatic(estimator: Any) -> None:
    """ConfigError for parameters of an automatic classifier, or settings of its members, that cannot be meant."""
    check_parameters(estimator, AUTOMATIC)
    if estimator.methods is not None:
        for name in estimator.methods:
            one_of("method", METHODS)("every one of methods=", name)
        if not len(estimator.methods) or len(set(estimator.methods)) < len(estimator.methods):
            raise ConfigError("methods= must be distinct names, one at least.")
    known = set(NetworkClassifier().get_params()) - CHOSEN_HERE
    check_not_renamed(NetworkClassifier.__init__, estimator.settings or {})
    for name in estimator.settings or {}:
        one_of("setting of members", known)("every key of settings=", name)
    check_parameters(Member().set_params(**(estimator.settings or {})), LABEL_SETS)


def default_methods(X: Any) -> tuple[str, ...]:
    """The methods for such features: one linear model, since on many labels it takes as long as a network, and trees where the
    features fit in memory as a dense array, without which they are slow."""
    counts = sparse.issparse(X) and weighable(X) and bool((X.data == np.rint(X.data)).all())
    return (LINEAR_ON_COUNTS if counts else LINEAR, *((FOREST,) if fits_densely(X) else ()), *TRAINED)


def parts_of(rows: Rows, folds: int, seed: int, least: int = 2) -> list[Part]:
    """One for each fold, which it holds out. DataError for too few rows, ``least`` in a fold."""
    parts = stratified_folds(rows.Y, folds, seed) if len(rows) >= folds else []
    if not parts or min(map(len, parts)) < least:
        raise DataError(
            f"{len(rows)} distinct rows are too few for {folds} stratified folds of {least} rows at least: set folds= lower, "
            "pass X_val and y_val, or use EnergyMultiLabelClassifier."
        )
    learnable = [fold for fold in parts if _leaves_something(rows, fold)]
    return [partial(without, rows, np.sort(fold)) for fold in learnable or parts]


def _leaves_something(rows: Rows, out: NDArray[np.intp]) -> bool:
    """Whether a label varies in the other rows: the only row of the only label may be among those left out."""
    kept = np.setdiff1d(np.arange(len(rows)), out)
    counts = np.asarray(rows.Y[kept].sum(0)).ravel()
    return bool(((counts > 0) & (counts < len(kept))).any())


def without(rows: Rows, out: NDArray[np.intp]) -> tuple[Rows, Rows]:
    """All rows but some, and these."""
    return rows.take(np.setdiff1d(np.arange(len(rows)), out)), rows.take(out)


def changed(parameters: dict[str, Any]) -> dict[str, Any]:
    """``settings`` from a classifier's parameters: those that members may have and that are not its defaults, columns too."""
    defaults = NetworkClassifier().get_params(deep=False)
    return {k: v for k, v in parameters.items() if k not in CHOSEN_HERE and not (k in defaults and v == defaults[k])}


class Budget(Callback):
    """Ends training after an epoch, and solvers after a try, once ``deadline`` (``time.monotonic``) has passed."""

    def __init__(self, deadline: float) -> None:
        self.deadline = deadline

    def on_epoch_end(self, loop: Loop, record: dict[str, Any]) -> None:
        if self.should_stop():
            loop.stop()

    def should_stop(self) -> bool:
        return time.monotonic() > self.deadline
