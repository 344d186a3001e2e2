"""Marginal models under an energy, yet to be fitted: methods of enstruct's, classifiers, models of observed labels.

What ``base=`` names is one of them (:func:`as_base`), "auto" several (:func:`automatic`), which
:mod:`enstruct.estimators.cross_fitting` fits and chooses among.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from sklearn.ensemble import StackingClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from torch import nn

from enstruct.baselines import CHOOSING
from enstruct.baselines.boosting import GROWERS, fit_label, is_installed
from enstruct.baselines.extra_trees import fits_densely
from enstruct.baselines.observed_linear import fit_observed_linear
from enstruct.baselines.observed_network import ObservedNetwork, fit_observed_network
from enstruct.data.tokens import TokenRows
from enstruct.encoders import LinearPredictor
from enstruct.encoders.boosted import BoostedTrees, as_tensor
from enstruct.encoders.text import TextEncoder
from enstruct.errors import ConfigError, unknown_name
from enstruct.estimators.classifier_base import ClassifierBase, innermost, takes_label_sets
from enstruct.estimators.label_format import LabelFormat
from enstruct.estimators.members import Budget, Member, default_methods
from enstruct.estimators.trained_base import TrainedBase, answer_of, is_trained
from enstruct.estimators.training_table import Table
from enstruct.methods import METHODS, Method

CLIP = 1e-4
"""Marginals nearer to 0 or 1 than this say no more: logits stay within ±9.2."""
MANY_LABELS = 300
"""From which on a model a label takes much longer than a network for all of them."""


def logits_of(p: NDArray[Any]) -> NDArray[np.float32]:
    p = np.clip(np.asarray(p, dtype=np.float64), CLIP, 1 - CLIP)
    return np.log(p / (1 - p)).astype(np.float32)


class Base(Protocol):
    """A marginal model yet to be fitted."""

    @property
    def name(self) -> str: ...

    @property
    def refits(self) -> bool:
        """Whether it is fitted to all rows in the end; otherwise the folds' models answer."""

    @property
    def chooses(self) -> bool:
        """Whether it tries several settings, and takes those of another fold's model where it is given one."""

    @property
    def heeds(self) -> bool:
        """Whether a fit looks at its deadline again and again, however many rows it has; trees do once some are grown."""

    def fit(self, train: Table, left_out: Table | None, seed: int, deadline: float, like: Any = None) -> Any:
        """The fitted model; ``like``: one of another fold, whose settings are taken and not chosen anew."""

    def marginals(self, model: Any, X: Any) -> NDArray[np.float64]:
        """(rows, labels)."""


@dataclass(frozen=True)
class MethodBase:
    """A method of enstruct's own, tuned and stopped on the fold that is left out. ``encoder``: of token rows, tuned with it."""

    method: Method
    metric: str
    encoder: TextEncoder | None = None
    refits: bool = False

    @property
    def name(self) -> str:
        return self.method.name

    @property
    def chooses(self) -> bool:
        return self.method.solver in CHOOSING

    @property
    def heeds(self) -> bool:
        return self.method.solver is None

    def fit(self, train: Table, left_out: Table | None, seed: int, deadline: float, like: Any = None) -> Member:
        member = Member(metric=self.metric, random_state=seed, callbacks=[Budget(deadline)])
        member.set_params(method=self.method, encoder=self.encoder)
        labels = LabelFormat("indicator", np.arange(train.Y.shape[1]), True)
        assert left_out is not None  # it is fitted by folds only
        return member.fit_as(labels, train.rows(), left_out.rows(), like)

    def marginals(self, model: Member, X: Any) -> NDArray[np.float64]:
        return model.predict_proba(X)


@dataclass(frozen=True)
class ObservedBase:
    """A model that learns each label from the rows where it was observed.

    name : "boosting", "lightgbm" or "catboost", one boosted ensemble a label; "linear", one logistic regression a label on
        standardised features; "linear-svm", one support vector machine a label; "network", one network for all labels, which
        each fold stops: their mean answers, and none is fitted to all rows.
    """

    name: str

    @property
    def refits(self) -> bool:
        return self.name != "network"

    @property
    def chooses(self) -> bool:
        return self.name == "network"

    @property
    def heeds(self) -> bool:
        return False

    def fit(self, train: Table, left_out: Table | None, seed: int, deadline: float, like: Any = None) -> nn.Module:
        weight = np.ones(len(train)) if train.weight is None else train.weight

        def is_late() -> bool:
            return time.monotonic() > deadline

        if self.name in ("linear", "linear-svm"):
            return fit_observed_linear(train.X, train.Y, weight, seed, is_late, machines=self.name == "linear-svm")
        if self.name == "network":
            judges = None if left_out is None else (left_out.X, left_out.Y)
            chosen = {} if like is None else {"settings": (like.setting,)}
            return fit_observed_network(train.X, train.Y, weight, judges, seed, is_late, **chosen)
        X, models = _dense(train.X), []
        for y in train.Y.T:
            rows = np.flatnonzero(~np.isnan(y))
            models.append(fit_label(X[rows], y[rows], weight[rows], seed, is_late(), by=self.name))
        return BoostedTrees.of_ensembles(models)

    @torch.no_grad()
    def marginals(self, model: nn.Module, X: Any) -> NDArray[np.float64]:
        return np.asarray(torch.sigmoid(model(as_tensor(X)).double()).numpy())


@dataclass(frozen=True)
class ViewBase:
    """A base on some columns of the rows: on terms of texts, which come first, on what an encoder makes of them, behind these, or
    on both.

    view : "terms", "encoder" (its features, dense), "both", or "tokens" (numbers of tokens, for an encoder that is tuned);
        n_terms : how many columns terms have.
    """

    base: Base
    view: str
    n_terms: int

    @property
    def name(self) -> str:
        return f"{self.base.name} ({self.view})"

    @property
    def refits(self) -> bool:
        return self.base.refits

    @property
    def chooses(self) -> bool:
        return self.base.chooses

    @property
    def heeds(self) -> bool:
        return self.base.heeds

    def fit(self, train: Table, left_out: Table | None, seed: int, deadline: float, like: Any = None) -> Any:
        others = None if left_out is None else replace(left_out, X=self._seen(left_out.X))
        return self.base.fit(replace(train, X=self._seen(train.X)), others, seed, deadline, like)

    def marginals(self, model: Any, X: Any) -> NDArray[np.float64]:
        return self.base.marginals(model, self._seen(X))

    def _seen(self, X: Any) -> Any:
        if self.view == "both":
            return X
        if self.view == "terms":
            return X[:, : self.n_terms]
        behind = X[:, self.n_terms :]
        return TokenRows(behind) if self.view == "tokens" else behind.toarray()


OBSERVED: dict[str, type[BoostedTrees | LinearPredictor | ObservedNetwork]] = {
    **dict.fromkeys(GROWERS, BoostedTrees),
    **dict.fromkeys(("linear", "linear-svm"), LinearPredictor),
    "network": ObservedNetwork,
}
"""What an :class:`ObservedBase` of this name fits, for loading."""


OF_OBSERVED = {
    "binary-relevance": "linear",
    "linear-svm": "linear-svm",
    "cross-entropy": "network",
    **{name: name for name in GROWERS},
}
"""A method's name -> the :class:`ObservedBase` that is its like where labels have holes."""


def _dense(X: Any) -> NDArray[Any]:
    return np.asarray(X.toarray() if sparse.issparse(X) else X)


def as_base(
    base: Any, metric: str, complete: bool, encoder: TextEncoder | None, n_labels: int, varying: NDArray[np.intp]
) -> Base:
    """What ``base=`` names, with an ``encoder`` of texts; ``varying``: the numbers, of all labels', of those it is fitted to.

    ConfigError for what gives no probabilities, for methods where labels are not ``complete``, and for an encoder to be tuned
    that nobody tunes.
    """
    if isinstance(base, str) and base not in METHODS:
        raise unknown_name("base", base, ["auto", *METHODS])
    if isinstance(base, (str, Method)):
        method = METHODS[base] if isinstance(base, str) else base
        if not complete and isinstance(base, str) and base in OF_OBSERVED:
            _refuse_tuned(encoder, method.name)
            return ObservedBase(OF_OBSERVED[base])
        if not complete:
            names = ", ".join(map(repr, OF_OBSERVED))
            raise ConfigError(
                f"base={method.name!r} needs every label of every row, and y has holes: take 'auto', a classifier of one label, "
                f"or one of {names}."
            )
        if method.solver is not None:
            _refuse_tuned(encoder, method.name)
        return MethodBase(method, metric, _tuned(encoder))
    if isinstance(base, (list, tuple)):
        raise ConfigError("base= lists fitted classifiers, as load takes them: name what to fit, as set_params(base='auto').")
    if is_trained(base):
        _refuse_tuned(encoder, "a trained model")
        return TrainedBase(answer_of(base), n_labels, varying)
    if not hasattr(base, "get_params") or isinstance(base, type):
        raise ConfigError(
            f"base= is 'auto', a method's name, a classifier of scikit-learn's, or a function of rows, not {base!r:.80}."
        )
    inner = innermost(base)
    if not (hasattr(base, "predict_proba") or isinstance(inner, StackingClassifier)):  # which has it once it is fitted
        raise ConfigError(f"base=: {type(base).__name__} gives no probabilities: it needs predict_proba (calibrate it first).")
    _refuse_tuned(encoder, type(base).__name__)
    if not complete and isinstance(inner, (MultiOutputClassifier, ClassifierChain)):
        raise ConfigError(
            f"base=: {type(inner).__name__} needs every label of every row, and y has holes: give the classifier of one "
            "label that is within it."
        )
    return ClassifierBase(base, per_label=not (complete and takes_label_sets(base)))


def _refuse_tuned(encoder: TextEncoder | None, name: str) -> None:
    if _tuned(encoder) is not None:
        raise ConfigError(f"encoder= is tuned with a network, and base={name} has none: take tuning='frozen', or another base.")


def _tuned(encoder: TextEncoder | None) -> TextEncoder | None:
    """For networks that train it: the rows of a frozen one are features like others."""
    return None if encoder is None or encoder.frozen else encoder


def _on_texts(table: Table, metric: str, n_terms: int, tuned: TextEncoder | None) -> list[Base]:
    """Of texts' terms and an encoder's features: linear ones on both together and on terms, a network on the features. Where the
    encoder is tuned: its network, and a linear one on terms, which costs little beside it.

    ConfigError for one that is tuned where labels have holes.
    """

    def of(name: str) -> Base:
        return MethodBase(METHODS[name], metric) if table.complete else ObservedBase(name)

    if tuned is not None and not table.complete:
        raise ConfigError(
            f"encoder= is tuned ({tuned.tuning}) with every label of every text, and y has holes: take tuning='frozen'."
        )
    if tuned is not None:
        reading = MethodBase(METHODS["cross-entropy"], metric, tuned)
        return [ViewBase(reading, "tokens", n_terms), ViewBase(of("linear-svm"), "terms", n_terms)]
    network = "cross-entropy" if table.complete else "network"
    views = [("linear-svm", "both"), (network, "encoder"), ("linear-svm", "terms")]
    return [ViewBase(of(name), view, n_terms) for name, view in views]


def automatic(table: Table, metric: str, encoder: TextEncoder | None = None, n_terms: int | None = None) -> list[Base]:
    """The bases that "auto" tries, cheap ones first: one linear, trees and boosted trees where the features fit into memory as a
    dense array, a network. Where labels have holes: linear models, a network on observed cells, boosted ensembles.

    Of more than MANY_LABELS the network comes first, as it learns all at once; of weighted terms of texts second, as it takes
    less time on these than trees, and says other things than a second linear model. Of a tuned encoder its network comes first,
    which somebody asked for. Where LightGBM is installed it grows the
    boosted trees, in less time and as well; CatBoost, where it is, comes last, as it takes the longest on many labels.
    """
    if n_terms is not None:
        return _on_texts(table, metric, n_terms, _tuned(encoder))
    dense = fits_densely(table.X)
    boosted = ["lightgbm" if is_installed("lightgbm") else "boosting"] if dense else []
    slowest = ["catboost"] if dense and is_installed("catboost") else []
    many = table.Y.shape[1] > MANY_LABELS
    linear = default_methods(table.X)[0]
    weighed = sparse.issparse(table.X) and linear == "binary-relevance"  # terms of texts
    if not table.complete:
        model = "linear-svm" if weighed else "linear"
        first = ("network", model) if many else (model, "network")
        return [ObservedBase(name) for name in (*first, *boosted, *slowest)]
    network = "cross-entropy"
    trees = ["extra-trees"] if dense else []
    if weighed:
        first = (network, "linear-svm") if many else ("linear-svm", network)
        names = [*first, *trees, linear, *boosted] if many else [*first, linear, *trees, *boosted]
    else:
        names = [network, *trees, linear, *boosted] if many else [linear, *trees, *boosted, network]
    return [MethodBase(METHODS[name], metric) for name in (*names, *slowest)]
