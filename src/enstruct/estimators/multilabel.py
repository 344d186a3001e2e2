"""``EnergyMultiLabelClassifier``: label sets from feature rows, the scikit-learn way."""

from __future__ import annotations

from dataclasses import replace
from math import ceil
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.metaestimators import available_if

from enstruct.data.rows import Rows
from enstruct.data.splits import holdout
from enstruct.decisions import bayes_risk
from enstruct.decisions.choose import RULES, cross_validate, fit_rule, make_rule
from enstruct.decisions.monitors import LabelSetMonitor
from enstruct.energies import EnergySpec
from enstruct.errors import ConfigError, DataError
from enstruct.estimators.choices import check_choices, check_decision
from enstruct.estimators.constants import ConstantLabels
from enstruct.estimators.label_format import LabelFormat
from enstruct.estimators.parameters import are_classes
from enstruct.estimators.predictions import LabelSetPredictions
from enstruct.estimators.preparation import (
    class_weights,
    in_single_precision,
    make_scaler,
    merge_duplicates,
    positive_weights,
    row_weights,
    seen_columns,
    validated,
    with_weight,
)
from enstruct.estimators.restore_on_failure import restore_on_failure
from enstruct.estimators.warm_start import check_warm_start, check_width, continues
from enstruct.methods import Method, get_method
from enstruct.objectives import Density
from enstruct.randomness import States, seeded, set_states, states
from enstruct.training.game import Game
from enstruct.training.loop import Loop
from enstruct.validation import optional

MIN_ROWS_TO_HOLD_OUT = 60


def _passes(estimator: Any) -> bool:
    """Whether the method is trained pass by pass: one stage, and no solver."""
    method = get_method(estimator.method)
    return method.solver is None and len(method.stages) == 1


class EnergyMultiLabelClassifier(LabelSetPredictions):
    """A feed-forward multi-label classifier trained with a learned energy as its loss.

    Minimises, over the predictor F and an energy network E that learns beside it,

        CE(F(x), y) + w E(x, F(x))

    where E is trained to tell the true label set from those F proposes (SEAL). At prediction F answers alone,
    and a decision rule fitted on validation rows turns its marginals into label sets. Methods that answer by
    inference minimise E over relaxed label sets instead, and the same rules decide on the minimiser.

    Parameters
    ----------
    method : str or Method, default="seal-nce"
        A row of ``enstruct.methods.METHODS``: "cross-entropy", "seal-margin", "seal-regression",
        "seal-regression-s", "seal-nce", "seal-ranking", "seal-static-nce", "seal-static-margin",
        "seal-static-regression"; by inference "spen", "spen-from-scratch", "spen-entropy", "spen-e2e", "dvn", "nce", "crf",
        "crf-lp", "crf-lbp", "crf-mean-field", "deep-mean-field", "deep-mean-field-scratch"; inference networks "infnet",
        "infnet+"; implicit bilevel training "implicit-cd", "implicit-ssvm", "implicit-dvn"; or a baseline
        ("binary-relevance", "binary-relevance-tfidf", "extra-trees", "low-rank", "mlp").
    metric : str, default="example-f1"
        What decision rules are fitted and chosen for: a key of ``enstruct.metrics.METRICS``.
    decision : str, default="auto"
        "fixed" (0.5), "threshold", "per-label", "top-k", "expected-f1", "bayes-risk", or "auto": the best of
        them in cross-validation within the validation rows. "bayes-risk" answers by samples weighed by the energy, half a
        millisecond a row and more, where the others take microseconds; ``predict(decision=...)`` takes another. Beyond
        2,000 labels "auto" does not try it.
    hidden, layers, dropout, nonlinearity : int, int, float, str
        The default encoder, a multi-layer perceptron.
    encoder : nn.Module or callable(n_features) -> nn.Module, default=None
        Your own x -> features (batch, width) instead.
    energy_network : EnergySpec or nn.Module, default=None
        The energy's terms, units, non-linearity, whose features; or your own module.
    energy_weight, supervised_weight, supervised, warmup, energy_steps, predictor_steps, repeats, first
        Columns of the method's row to change (its predictor loss and coupling); None keeps them.
    entropy_weight, anchor_weight
        The same for the stabilising terms of inference networks; see :class:`~enstruct.methods.PredictorLoss`.
    negatives, n_samples, cost
        The same for where candidates come from: "samples", "perturbed", "point", "rounded", "cost-augmented" or
        an object of ``enstruct.negatives``; their number; and a key of ``enstruct.spaces.costs.COSTS``.
    inference : Inference, default=None
        The same for how methods that answer by the energy minimise it (:class:`enstruct.inference.Inference`).
    hypergradient : str or Coupling, default=None
        How the energy's gradient is taken: "alternating", "unrolled", "implicit", or an object of
        ``enstruct.hypergradients`` such as ``Implicit(ConjugateGradient(), damping=0.1)``; None keeps the row's.
    sample_gradient : str, default=None
        How discrete samples pass a gradient to the predictor under "unrolled" and "implicit": "score-function",
        "straight-through", "concrete"; None takes the row's own.
    learning_rate, energy_learning_rate, weight_decay, clip, energy_clip : float
        The energy's rate defaults to the predictor's times the method's ``energy_rate``. ``clip`` bounds
        the norm of the gradient of each player; None leaves it.
    optimizer : str, default="adamw"
        The predictor's: a class of ``torch.optim`` in lower case ("sgd", "adam", "rmsprop", ...). The energy has AdamW.
    batch_size, max_iter, n_iter_no_change, tol
        ``max_iter`` epochs at most (per stage), fewer once no watched score has risen by ``tol`` for
        ``n_iter_no_change`` epochs; the rate is halved after a third of them. What is watched, and which epoch's
        weights are kept: :mod:`enstruct.decisions.monitors`. "auto": 200 and 20 epochs, more on small
        data (at least 5000 and 500 updates; of fewer than 180 training rows less, by the square of their number)
    monitor : "auto" or "fixed"
        "fixed": the metric at 0.5 is all that is watched, as by the published SEAL systems; with rare labels it may stay at 0
        until patience ends.
    learn_constant : bool, default=False
        Whether networks learn labels that all training rows have, or none; else these are answered so, and are not judged.
    early_stopping : bool or "auto", default="auto"
        Whether to hold out ``validation_fraction`` of the rows when ``fit`` gets no ``X_val``; "auto": from 60
        rows on. Without validation rows the training loss is watched and the decision is "fixed".
    validation_epochs : int, default=0
        Passes of the predictor over the validation rows once the decision rules are fitted, the energy held fixed (the
        implicit-training paper's Remark 3, which it does not use itself).
    standardize : bool, "auto" or "tfidf"
        Scaling fitted on training rows only; see ``enstruct.estimators.preparation.make_scaler``. "auto" is
        "tfidf" for the method "binary-relevance-tfidf".
    class_weight : None, "balanced" or dict
        Weight of active labels in the supervised loss, of trees a factor of their odds; "balanced": negatives over positives; for
        1-D y of the rows of each class, as scikit-learn has it.
    bayes_risk_samples : int, default=300
        Label sets a row that the decision "bayes-risk" draws from the predictor and weighs by the energy, 1 or more.
    hierarchy : enstruct.data.hierarchy.Hierarchy, optional
        Predictions are closed upwards in it.
    random_state, verbose, warm_start, device, callbacks
        As usual; ``device`` may be "auto".

    Attributes
    ----------
    classes_ : ndarray of (labels,)
        Label names, or column numbers.
    predictor_, energy_ : nn.Module
        The networks; ``energy_`` is None where the method has none.
    history_ : list of dict
        One entry an epoch: losses, score, seconds, updates.
    n_iter_ : int
        Epochs, over all stages.
    updates_ : dict
        Optimiser steps of "predictor" and "energy".
    rules_ : dict
        Name -> fitted decision rule.
    decision_, decision_scores_ : str, dict
        The rule in force, and every rule's score on validation rows.
    thresholds_ : ndarray of (labels,)
        Fitted per-label thresholds.
    n_features_in_, feature_names_in_ : as usual
    """

    def __init__(
        self,
        method: Any = "seal-nce",
        *,
        metric: str = "example-f1",
        decision: str = "auto",
        hidden: int = 400,
        layers: int = 2,
        dropout: float = 0.5,
        nonlinearity: str = "softplus",
        encoder: Any = None,
        energy_network: Any = None,
        energy_weight: float | None = None,
        supervised_weight: float | None = None,
        supervised: str | None = None,
        warmup: int | None = None,
        entropy_weight: float | None = None,
        anchor_weight: float | None = None,
        negatives: Any = None,
        n_samples: int | None = None,
        cost: str | None = None,
        inference: Any = None,
        hypergradient: Any = None,
        sample_gradient: str | None = None,
        energy_steps: int | None = None,
        predictor_steps: int | None = None,
        repeats: int | None = None,
        first: str | None = None,
        learning_rate: float = 1e-3,
        energy_learning_rate: float | None = None,
        weight_decay: float = 1e-5,
        clip: float | None = 10.0,
        energy_clip: float | None = None,
        batch_size: int = 32,
        optimizer: str = "adamw",
        max_iter: int | str = "auto",
        n_iter_no_change: int | str = "auto",
        tol: float = 1e-4,
        monitor: str = "auto",
        learn_constant: bool = False,
        early_stopping: bool | str = "auto",
        validation_fraction: float = 0.2,
        validation_epochs: int = 0,
        standardize: bool | str = "auto",
        class_weight: Any = None,
        bayes_risk_samples: int = 300,
        hierarchy: Any = None,
        random_state: Any = None,
        warm_start: bool = False,
        verbose: int = 0,
        device: str = "cpu",
        callbacks: Any = None,
    ) -> None:
        self._store(locals())

    partial_game_: Game
    _classes: Any = None  # all there are, where the rows of fit may lack some

    # -- fitting ----------------------------------------------------------------------------------

    @restore_on_failure
    def fit(self, X: Any, y: Any, sample_weight: Any = None, X_val: Any = None, Y_val: Any = None) -> EnergyMultiLabelClassifier:
        """Train on rows X (dense, CSR or DataFrame) and label sets y (see ``LabelFormat``).

        ``X_val, Y_val`` serve early stopping and the decision rules; without them a stratified part of the rows
        is held out. Raises DataError for unusable data, ConfigError for unknown settings, DivergenceError.
        """
        check_choices(self)
        if (X_val is None) != (Y_val is None):
            raise ConfigError("Pass both X_val and Y_val, or neither.")
        check_width(self, X)
        X = validated(self, X, reset=True)
        labels = LabelFormat.infer(y, self._classes)
        rows = merge_duplicates(self._rows(X, y, sample_weight, labels))
        learns = self.learn_constant and self._method().solver is None
        constants = ConstantLabels.none(rows.Y.shape[1]) if learns else ConstantLabels.find(rows.Y)
        seed = self._seed()
        validation: Rows | None
        if X_val is not None:
            train, validation = rows, with_weight(self._rows(validated(self, X_val, reset=False), Y_val, None, labels))
        else:
            train, validation = self._hold_out(rows, seed)
        if self.validation_epochs and validation is None:
            raise ConfigError("validation_epochs needs validation rows: pass X_val and Y_val, or early_stopping=True.")
        if validation is not None and len(validation) < 2 and labels.kind != "single" and self.decision == "auto":
            raise DataError(
                "One validation row is too few: one half of them chooses the decision rule for the other. Name one (decision=)."
            )
        check_decision(self, labels, validation is not None)
        scaler = self._make_scaler(train.X)
        check_warm_start(self, labels, constants, train.X)
        if not continues(self):  # networks that go on keep their inputs
            self.columns_ = seen_columns(train.X) if self._builds_networks() else None
        self.labels_, self.constants_, self.scaler_ = labels, constants, scaler
        self.classes_ = labels.classes
        train = self._modelled(train)
        validation = None if validation is None else self._modelled(validation)
        for name in ("partial_game_", "weight_scale_", "thresholds_"):  # partial_fit goes on with what is fitted now
            self.__dict__.pop(name, None)
        game = self._train(train, validation, self._monitor(), self._label_weights(rows.Y), seed)
        self._fit_rules(validation)
        if game is not None and validation is not None and self.validation_epochs:
            self._refine_on(validation, game, self._monitor(), seed)
            self.updates_ = dict(game.updates)
        return self

    @available_if(_passes)
    @restore_on_failure
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> EnergyMultiLabelClassifier:
        """One pass over these rows, by the method's first stage.

        On a fitted (or loaded) estimator it goes on with its networks, labels, scaling and decision rules. On a new one the
        first call fixes the labels (``classes``, or those of y) and the scaling, and the decision stays at 0.5, as no rows are
        held out. A later call that fails or is interrupted keeps the updates of the batches that it has seen.
        """
        new = not hasattr(self, "predictor_")
        check_choices(self)
        optional(are_classes)("classes", classes)
        if self.class_weight == "balanced":
            raise ConfigError("class_weight='balanced' needs all rows at once; give partial_fit a dict of weights.")
        X = validated(self, X, reset=new)
        if new:
            self.labels_ = LabelFormat.infer(y, classes)
            self.classes_ = self.labels_.classes
            self.constants_ = ConstantLabels.none(self.labels_.n_labels)
            self.scaler_, self.columns_ = self._make_scaler(X), None  # later calls may bring features that this one lacks
            self.history_, self.rules_, self.decision_ = [], {"fixed": make_rule("fixed")}, "fixed"
        rows = merge_duplicates(self._in_proportion(self._rows(X, y, sample_weight, self.labels_)), even=False)
        self.constants_.warn_if_they_vary(rows.Y)
        rows = self._modelled(rows)
        self._partial_epoch(rows, new)
        return self

    def _label_weights(self, Y: Any) -> Any:
        """(labels that vary,) of the positives of label sets; a single label's classes weigh on its rows, see :meth:`_rows`."""
        if self.class_weight is None or self.labels_.kind == "single":
            return None
        weights = positive_weights(self.class_weight, Y, self.labels_.classes)
        return None if weights is None else weights[self.constants_.varying]

    def _rows(self, X: Any, Y: Any, sample_weight: Any, labels: LabelFormat) -> Rows:
        indicator = labels.encode(Y)
        if indicator.shape[0] != X.shape[0]:
            raise DataError(
                f"Found input variables with inconsistent numbers of samples: X has {X.shape[0]}, y has {indicator.shape[0]}."
            )
        weight = None
        if sample_weight is not None:
            weight = row_weights(sample_weight, X)
        if labels.kind == "single" and self.class_weight is not None:
            per_class = class_weights(self.class_weight, indicator, labels.classes)
            weight = (1.0 if weight is None else weight) * np.asarray(indicator @ per_class).ravel()
        return Rows(X, indicator, weight)

    def _hold_out(self, rows: Rows, seed: int) -> tuple[Rows, Rows | None]:
        if not self.early_stopping or (self.early_stopping == "auto" and len(rows) < MIN_ROWS_TO_HOLD_OUT):
            return rows, None
        fraction, n = self.validation_fraction, len(rows)
        train, held = holdout(rows.Y, fraction, seed) if ceil(fraction * n) < n else (np.arange(0), np.arange(n))
        if not len(train) or not len(held):
            raise DataError(
                f"{n} distinct rows are too few to hold out validation_fraction={fraction:g}: nothing would be left to train on."
            )
        return rows.take(train), rows.take(held)

    def _in_proportion(self, rows: Rows) -> Rows:
        """Weights over their mean in the first call of ``partial_fit``, so that those of its calls can be compared."""
        if not hasattr(self, "weight_scale_"):
            self.weight_scale_ = 1.0 if rows.weight is None else float(rows.weight.mean())
        return rows if rows.weight is None else replace(rows, weight=rows.weight / (self.weight_scale_ or 1.0))

    def _modelled(self, rows: Rows) -> Rows:
        """Scaled features, in the precision of training; only labels that vary."""
        return Rows(in_single_precision(self._scaled(rows.X)), rows.Y[:, self.constants_.varying], rows.weight)

    def _make_scaler(self, X: Any) -> Any:
        return make_scaler(self._method().scaling if self.standardize == "auto" else self.standardize, X)

    def _scaled(self, X: Any) -> Any:
        """As the networks take it: scaled, without the features that no training row has."""
        if sparse.issparse(X) and getattr(self.scaler_, "mean_", None) is not None:
            X = X.toarray()  # the rows of fit were dense, and centred
        X = X if self.scaler_ is None else self.scaler_.transform(X)
        return X if self.columns_ is None else X[:, self.columns_]

    def _builds_networks(self) -> bool:
        """Whether both networks are made here, for as many features as there are, or brought by the caller."""
        return self.encoder is None and (self.energy_network is None or isinstance(self.energy_network, EnergySpec))

    def _monitor(self) -> LabelSetMonitor:
        """What training watches, and how it chooses among the epochs it kept."""
        return LabelSetMonitor(self.metric, self.decision, self.labels_.kind == "single", self.monitor)

    def _fit_rules(self, validation: Rows | None) -> None:
        self.rules_: dict[str, Any] = {"fixed": make_rule("fixed")}
        self.decision_scores_: dict[str, float] = {}
        self.decision_ = "fixed"
        if validation is None or self.labels_.kind == "single":
            return
        p = self._marginals(validation.X)
        sampled = self.density_ is not Density.NONE and (p.shape[1] <= bayes_risk.MOST_LABELS or self.decision == "bayes-risk")
        names = [name for name in RULES if name != "bayes-risk" or sampled]
        if self.decision == "auto":
            arguments = (p, validation.Y, self.metric, validation.X, self._posterior(), validation.weight)
            compared = cross_validate(names, *arguments)
            self.decision_scores_, self.decision_ = compared.scores, compared.best()
        else:
            self.decision_ = self.decision
        for name in names:
            self.rules_[name] = fit_rule(
                make_rule(name, self._posterior()), p, validation.Y, self.metric, validation.X, validation.weight
            )
        self.thresholds_ = self.constants_.expand_numbers(np.broadcast_to(self.rules_["per-label"].thresholds, p.shape[1]), 0.5)

    def _partial_game(self, method: Method, rows: Rows, new: bool) -> Game:
        weights = self._label_weights(rows.Y)
        if new:
            return self._make_game(method, rows, weights)
        self._check_same_task(method, rows, "partial_fit")
        game = self._game_of_networks(method, rows, weights)
        updates = getattr(self, "updates_", {})
        game.predictor_updates = updates.get("predictor", 0)  # the energy's weight has risen already
        game.loss.updates = updates.get("energy", 0)
        return game

    def _partial_epoch(self, rows: Rows, new: bool) -> None:
        """``new``: on networks yet to be made."""
        method, device = self._method(), self._device()
        with seeded(0 if hasattr(self, "partial_game_") else self._seed()):
            if hasattr(self, "partial_game_"):
                set_states(self.generator_states_, device)
                if not self.partial_game_.has(method, self._settings(len(rows))):  # set_params between two calls
                    self.partial_game_ = self._partial_game(method, rows, new=False)
            else:
                self.partial_game_ = self._partial_game(method, rows, new)
            losses = Loop(self.partial_game_, rows, None, self._monitor(), device=self._device()).run_epoch(method.stages[0])
            self.generator_states_: States = states(device)
        self.updates_ = dict(self.partial_game_.updates)
        record = {"epoch": len(self.history_) + 1, **{f"{k}_loss": v for k, v in losses.items()}}
        self.history_ = [*self.history_, record]
        self.n_iter_ = len(self.history_)
