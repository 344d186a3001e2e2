"""``EnergyMultiLabelClassifier``: label sets from feature rows, by a joint distribution or by the networks of one method."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from enstruct.errors import ConfigError, unknown_name
from enstruct.estimators.base import COLUMN, has_passes
from enstruct.estimators.label_rows import class_weights, row_weights
from enstruct.estimators.network_classifier import NetworkClassifier
from enstruct.estimators.persistence import JOINT as JOINT_HEADER
from enstruct.estimators.renamed import refuse_renamed
from enstruct.estimators.restore_on_failure import restore_on_failure
from enstruct.estimators.told import told_format
from enstruct.methods import METHODS, Method
from enstruct.objectives import Density
from enstruct.training.predict import Networks

if TYPE_CHECKING:
    from enstruct.estimators.joint import JointMultiLabelClassifier

JOINT_METHOD = "joint"
SHARED = ("base", "encoder", "metric", "decision", "n_iter_no_change", "rules", "random_state")
"""Parameters that a joint distribution has too."""


def _is_joint(estimator: Any) -> bool:
    return isinstance(estimator.method, str) and estimator.method == JOINT_METHOD


def _has_passes(estimator: Any) -> bool:
    return not _is_joint(estimator) and has_passes(estimator)


class EnergyMultiLabelClassifier(NetworkClassifier):
    """Label sets from feature rows: by default a joint distribution over them, or what any method of networks learns.

    By default marginals of the best models that a few minutes find are cross-fitted, and an energy is put on them that knows how
    labels hang together:

        p(y | x) = exp(-E(x, y)) / Z(x)

    so that predictions take labels that are told (``known=``), and :meth:`sample`, :meth:`log_prob` and :meth:`ask` answer for
    whole sets. With ``method="seal-nce"`` or another row of ``enstruct.METHODS`` it is a feed-forward network F trained with a
    learned energy as its loss, CE(F(x), y) + w E(x, F(x)), or a baseline (:mod:`enstruct.estimators.network_classifier`).

    Parameters
    ----------
    method : str or Method, default="joint"
        "joint": the best marginals that ``base`` finds, and an energy on them that is a distribution over label sets
        (:class:`~enstruct.JointMultiLabelClassifier`). Otherwise
        a row of ``enstruct.METHODS``, or one with other columns, as ``METHODS["seal-nce"].with_(energy_weight=1.0)``
        (:meth:`enstruct.Method.with_`; in searches ``method__energy_weight``). The rows: "cross-entropy", "seal-..." ("margin",
        "regression", "regression-s", "nce", "ranking", "pl", "static-nce", "static-margin", "static-regression"); by inference
        "spen", "spen-from-scratch", "spen-entropy", "spen-e2e", "dvn", "nce", "conditional-nce", "pl" (pseudo-likelihood), "crf",
        "crf-lp", "crf-lbp", "crf-mean-field", "gspen", "deep-mean-field", "deep-mean-field-scratch"; "infnet", "infnet+", "alen",
        "ialen"; "implicit-cd", "implicit-ssvm", "implicit-dvn"; baselines "binary-relevance", "binary-relevance-tfidf",
        "linear-svm", "label-tree", "label-tree-tfidf" (for very many labels), "extra-trees", "boosting", "lightgbm", "catboost"
        (of ``enstruct[boosting]``), "low-rank", "mlp".
    base : "auto", str, Method, classifier or function, default="auto"
        Of the method "joint": what gives the marginals, as there. ``encoder`` (a TextEncoder), ``metric``, ``decision``,
        ``n_iter_no_change`` (of its energy: epochs without a better held-out value), ``rules`` and ``random_state`` are the other
        parameters that it has; any of the rest needs a method of networks to act on. How many minutes and folds it takes is set
        on :class:`~enstruct.JointMultiLabelClassifier` itself.
    metric : str, default="example-f1"
        What decision rules are fitted and chosen for: a key of ``enstruct.metrics.METRICS``.
    decision : str, default="auto"
        Of "joint" as :class:`~enstruct.JointMultiLabelClassifier` has it. Of networks "fixed" (0.5), "threshold", "scaled",
        "per-label", "top-k", "expected-f1", "bayes-risk" (samples weighed by the energy: half a millisecond a row and more), or
        "auto": the best of them in cross-validation within the validation rows, "bayes-risk" up to 2,000 labels.
    hidden, layers, dropout, nonlinearity : int, int, float, str
        The default encoder, a multi-layer perceptron.
    encoder : nn.Module, callable(n_features) -> nn.Module or TextEncoder, default=None
        Your own x -> features (batch, width) instead; or what reads texts (:class:`enstruct.TextEncoder`), which "joint" takes
        too. Without it texts go by tf-idf.
    energy_network : EnergySpec or nn.Module, default=None
        The energy's terms, units, non-linearity, whose features; or your own module.
    learning_rate, weight_decay, clip, optimizer : float, float, float or None, str
        Of the predictor: ``clip`` bounds the norm of its gradient, ``optimizer`` is a class of ``torch.optim`` in lower case. The
        energy has AdamW, the rate times the method's ``energy_rate``, and its ``energy_clip``. The rate "auto" is 0.0015 for
        batches of 32, the highest of a stage, and grows with the square root of the batch; with a number for
        ``n_iter_no_change`` 0.001.
    batch_size : int or "auto"
        "auto": a sixteenth of the training rows, 32 at least and 128 at most.
    max_epochs, n_iter_no_change, tol : int or "auto", int or "auto", float
        Where the predictor learns in all of the method's stages, a stage has ``max_epochs``, within the first tenth of which the
        rate rises, and falls to nothing at their end; "auto": 30, more on small data and fewer on many rows, and again, twice and
        four times as many, while the loss on validation rows still falls. Where an energy learns alone, or with a number for
        ``n_iter_no_change``, a stage ends once no watched score has risen by ``tol`` for so many epochs ("auto": 20), after
        ``max_epochs`` at most ("auto": 200), and the rate is halved after a third of them. What is watched, and which epoch's
        weights are kept: :mod:`enstruct.decisions.monitors`; what "auto" is: :class:`enstruct.tasks.Budget`.
    monitor : "auto" or "fixed"
        "fixed": the metric at 0.5 is all that is watched, of inference's answers too, as by the published SEAL systems.
    learn_constant : bool, default=False
        Whether networks learn labels that all training rows have, or none; else these are answered so, and are not judged.
    early_stopping : bool or "auto", default="auto"
        Whether to hold out ``validation_fraction`` of the rows when ``fit`` gets no ``X_val``; "auto": from 60 on. Without
        validation rows the training loss is watched and the decision is "fixed".
    standardize : bool, "auto" or "tfidf"
        Scaling fitted on training rows only (:func:`enstruct.estimators.features.make_scaler`); "auto": as the method says.
    class_weight : None, "balanced" or dict
        Of active labels in the supervised loss, of trees a factor of their odds; of 1-D y as scikit-learn has it, which is all
        that "joint" takes.
    rules : a rule of :mod:`enstruct.rules`, or a list of them, optional
        What is known of labels beside the data, as ``Excludes("day", "night")`` or a hierarchy: no answer breaks one, told labels
        tell what follows from them, marginals are those once the rules hold. Soft ones weigh.
    random_state, verbose, warm_start, device ("auto", "cpu", "cuda"), callbacks : as usual

    Attributes
    ----------
    classes_, predictor_, energy_ : ndarray of (labels,), nn.Module, nn.Module or None
        Label names, or column numbers; the networks ("joint" has no predictor).
    joint_ : JointMultiLabelClassifier
        What the method "joint" has fitted.
    history_, n_iter_, updates_ : list of dict, int, dict
        One entry an epoch (losses, score, seconds, updates); epochs over all stages; steps of "predictor" and "energy".
    rules_, decision_, decision_scores_, thresholds_ : dict, str, dict, ndarray of (labels,)
        Fitted decision rules by name; the one in force; their scores on validation rows; the thresholds of "per-label".
    """

    @refuse_renamed
    def __init__(
        self,
        method: Any = "joint",
        *,
        base: Any = "auto",
        metric: str = "example-f1",
        decision: str = "auto",
        hidden: int = 400,
        layers: int = 2,
        dropout: float = 0.5,
        nonlinearity: str = "softplus",
        encoder: Any = None,
        energy_network: Any = None,
        learning_rate: float | str = "auto",
        weight_decay: float = 1e-5,
        clip: float | None = 10.0,
        batch_size: int | str = "auto",
        optimizer: str = "adamw",
        max_epochs: int | str = "auto",
        n_iter_no_change: int | str = "auto",
        tol: float = 1e-4,
        monitor: str = "auto",
        learn_constant: bool = False,
        early_stopping: bool | str = "auto",
        validation_fraction: float = 0.2,
        standardize: bool | str = "auto",
        class_weight: Any = None,
        rules: Any = None,
        random_state: Any = None,
        warm_start: bool = False,
        verbose: int = 0,
        device: str = "cpu",
        callbacks: Any = None,
    ) -> None:
        self._store(locals())

    def set_params(self, **params: Any) -> Self:
        """Change parameters; ``method__energy_weight=1`` changes a column of the method's row, as searches do. ConfigError."""
        joint = _is_joint(self) if "method" not in params else _equal(params["method"], JOINT_METHOD)
        if joint and (columns := [name for name in params if name.startswith(COLUMN)]):
            raise ConfigError(
                f"{columns[0]}: method='joint' is no row of METHODS and has no columns; name a method of networks with it."
            )
        return super().set_params(**params)

    def _check_parameters(self) -> Method:
        if isinstance(self.method, str) and self.method not in METHODS:
            raise unknown_name("method", self.method, [JOINT_METHOD, *METHODS])
        if not _equal(self.base, "auto"):
            raise ConfigError(
                f"base= is what method='joint' stands on, and method={_name(self.method)} has none: leave one of them out."
            )
        return super()._check_parameters()

    def _check_idle(self) -> None:
        """ConfigError for a parameter of networks, which the method "joint" would not heed."""
        defaults = EnergyMultiLabelClassifier().get_params(deep=False)
        idle = [
            name
            for name, value in self.get_params(deep=False).items()
            if name not in ("method", "class_weight", *SHARED) and not (value is defaults[name] or _equal(value, defaults[name]))
        ]
        if idle:
            raise ConfigError(
                f"{idle[0]}= is of a method's networks, and method='joint' has none of its own: name a method, as "
                "method='seal-nce', or give the base its parameters, as base=METHODS[...].with_(...)."
            )

    # -- fitting ----------------------------------------------------------------------------------

    @refuse_renamed
    @restore_on_failure
    def fit(self, X: Any, y: Any, sample_weight: Any = None, X_val: Any = None, y_val: Any = None) -> Self:
        """Train on rows X (dense, CSR, DataFrame, or texts) and label sets y (see ``LabelFormat``); for "joint" y may have
        holes (NaN).

        ``X_val, y_val`` serve a network's early stopping and decision rules; without them a stratified part of the rows is held
        out. "joint" leaves out each row once by itself, and refuses them.
        Raises DataError for unusable data, ConfigError for unknown settings, DivergenceError.
        """
        self.__dict__.pop("joint_", None)
        if not _is_joint(self):
            return super().fit(X, y, sample_weight, X_val, y_val)
        self._check_idle()
        if X_val is not None or y_val is not None:
            raise ConfigError(
                "method='joint' leaves out every row once by itself: give it all rows as X and y, without X_val and y_val."
            )
        joint = _joint_class()(**{name: getattr(self, name) for name in SHARED})
        return self._adopt(joint.fit(X, y, self._class_weighted(X, y, sample_weight)))

    def _class_weighted(self, X: Any, y: Any, sample_weight: Any) -> Any:
        """The rows' weights times those of their classes, where a row has one. ConfigError for label sets."""
        if self.class_weight is None:
            return sample_weight
        labels = told_format(y)
        if labels.kind != "single":
            raise ConfigError(
                "class_weight= weighs label sets in a network's loss, and method='joint' has none: name a method, or weigh rows "
                "(sample_weight=)."
            )
        indicator = labels.encode(y)
        weight = np.asarray(indicator @ class_weights(self.class_weight, indicator, labels.classes)).ravel()
        return weight if sample_weight is None else weight * row_weights(sample_weight, X)

    def _adopt(self, joint: JointMultiLabelClassifier) -> Self:
        """Take what a fitted joint has for one's own; nothing of networks fitted before stays."""
        for name in [name for name in vars(self) if name.endswith("_") and not name.startswith("_")]:
            delattr(self, name)
        self.joint_, self.energy_ = joint, joint.energy_
        for name in (
            "classes_",
            "n_features_in_",
            "feature_names_in_",
            "text_",
            "rules_",
            "decision_",
            "decision_scores_",
            "notes_",
        ):
            if hasattr(joint, name):
                setattr(self, name, getattr(joint, name))
        return self

    @available_if(_has_passes)
    @restore_on_failure
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """As :meth:`enstruct.estimators.network_classifier.NetworkClassifier.partial_fit`; "joint" has none."""
        return super().partial_fit(X, y, classes, sample_weight)

    # -- answers ----------------------------------------------------------------------------------

    def _joint(self, **idle: Any) -> JointMultiLabelClassifier | None:
        """The fitted joint, None where networks answer. ConfigError for what only networks do."""
        if _is_joint(self):
            check_is_fitted(self, "joint_")
        joint: JointMultiLabelClassifier | None = getattr(self, "joint_", None)
        if joint is not None and (asked := [name for name, value in idle.items() if value is not None]):
            raise ConfigError(
                f"{asked[0]}= is for networks, and method='joint' has none: leave it out, or fit method='seal-nce'."
            )
        return joint

    @property
    def density_(self) -> Density:
        """What the energy's exp(-E) estimates."""
        return Density.JOINT if _is_joint(self) else super().density_

    def _networks(self) -> Networks:
        if self._joint() is not None:
            raise ConfigError("This needs the networks of a method, as method='seal-nce'; method='joint' has none of its own.")
        return super()._networks()

    def _no_joint(self, known: Any) -> None:
        if known is not None:
            raise _has_none("known=", self.method)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Log-odds (rows, labels); constant labels get -30 or 30. Binary 1-D y: (rows,) log-odds of the second class."""
        joint = self._joint()
        return super().decision_function(X) if joint is None else joint.decision_function(X)

    def predict_proba(self, X: Any, *, known: Any = None, refine: int | None = None) -> NDArray[np.float64]:
        """Marginal probabilities (rows, labels), given what is told; for 1-D y they sum to one.

        known : of the joint, told labels: a table (rows, labels) of 1, 0 and NaN where nothing is told, or one dict a row.
        refine : of networks, see :meth:`predict`. Methods that answer by inference give their relaxed minimisers.
        """
        joint = self._joint(refine=refine)
        if joint is not None:
            return joint.predict_proba(X, known=known)
        self._no_joint(known)
        return super().predict_proba(X, refine=refine)

    def predict(
        self, X: Any, *, known: Any = None, decision: Any = None, top_k: int | None = None, refine: int | None = None
    ) -> Any:
        """Label sets in the form y had in ``fit``; told labels (``known``) come back as told.

        decision : another fitted rule for this call; of the joint also "subset-accuracy" (the likeliest whole set), "example-f1",
            "hamming", "jaccard" or a callable gain(truth, predicted), each of least expected risk.
        top_k : the k most probable labels instead.
        refine : moves a network's marginals by so many steps of inference on its learned energy first. ConfigError if there is
            no such energy.
        """
        joint = self._joint(refine=refine)
        if joint is not None:
            return joint.predict(X, known=known, decision=decision, top_k=top_k)
        self._no_joint(known)
        return super().predict(X, decision=decision, top_k=top_k, refine=refine)

    def predict_by_rule(self, X: Any, *, known: Any = None, risks: Sequence[str] = ()) -> dict[str, Any]:
        """Fitted rule -> label sets of the rows as :meth:`predict` gives them under it; of the joint given what is ``known``, and
        of ``risks``, names of decisions of least expected risk ("subset-accuracy", ...), too."""
        joint = self._joint()
        if joint is not None:
            return joint.predict_by_rule(X, known=known, risks=risks)
        self._no_joint(known)
        if risks:
            raise _has_none("risks=", self.method)
        return super().predict_by_rule(X)

    def set_decision(self, decision: str) -> Self:
        """Put another fitted rule in force, without retraining; of the joint also a decision of least risk, by its name."""
        joint = self._joint()
        if joint is None:
            return super().set_decision(decision)
        self.decision_ = self.decision = joint.set_decision(decision).decision_
        return self

    def energy(self, X: Any, y: Any, *, known: Any = None) -> NDArray[np.float64]:
        """(rows,) E(x, y) of given label sets; lower is better. Of the joint, infinite of what ``known`` contradicts. ConfigError
        if the method has no energy."""
        joint = self._joint()
        if joint is not None:
            return joint.energy(X, y, known=known)
        self._no_joint(known)
        return super().energy(X, y)

    def sample(self, X: Any, n: int = 1, random_state: Any = None, *, known: Any = None) -> NDArray[np.uint8]:
        """(rows, n, labels) draws from the joint given what is told, or from a network's independent labels."""
        joint = self._joint()
        if joint is not None:
            return joint.sample(X, n, known=known, random_state=random_state)
        self._no_joint(known)
        return super().sample(X, n, random_state)

    def log_prob(self, X: Any, y: Any, *, known: Any = None, return_error: bool = False) -> Any:
        """(rows,) log p(y | x, what is told) in nats: :meth:`enstruct.JointMultiLabelClassifier.log_prob`. ConfigError if the
        method has no joint distribution."""
        return self._of_joint("log_prob").log_prob(X, y, known=known, return_error=return_error)

    def ask(self, X: Any, *, known: Any = None) -> NDArray[Any]:
        """(rows,) the label to ask for next: :meth:`enstruct.JointMultiLabelClassifier.ask`. ConfigError likewise."""
        return self._of_joint("ask").ask(X, known=known)

    def predict_new(self, X: Any, label_texts: Sequence[str]) -> NDArray[np.float64]:
        """(rows, texts) probabilities of labels that training knew nothing of, by their names or descriptions: of a network that
        was fitted with ``label_texts``, or of a joint's base that was. ConfigError without."""
        joint = self._joint()
        return super().predict_new(X, label_texts) if joint is None else joint.predict_new(X, label_texts)

    def _of_joint(self, call: str) -> JointMultiLabelClassifier:
        joint = self._joint()
        if joint is None:
            raise _has_none(call, self.method)
        return joint

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """``metric`` of ``predict(X)`` (accuracy for 1-D y); where y has holes, of the labels that are known."""
        joint = self._joint()
        return super().score(X, y, sample_weight) if joint is None else joint.score(X, y, sample_weight)

    # -- saving -----------------------------------------------------------------------------------

    def save(self, path: Path | str, notes: dict[str, Any] | None = None) -> None:
        """Write a model folder, whole or not at all: :mod:`enstruct.estimators.saved_joint` for the joint, for networks
        :mod:`enstruct.estimators.persistence`.

        What is code (a ``base`` of one's own; an ``encoder``, ``energy_network`` or ``method`` of other parts than enstruct's) is
        named there and must be passed to :meth:`load`. ``notes`` (plain JSON values) travel along and come back as ``notes_``.
        Raises SaveError, ModelFileError; ConfigError for settings that the networks were not made with.
        """
        joint = self._joint()
        if joint is None:
            super().save(path, notes)
        else:
            joint.save(path, notes)

    @classmethod
    def load(cls, path: Path | str, **code: Any) -> Self:
        """A saved model, of this class or of the joint's. ``code``: what :meth:`save` could only name. Raises ModelFileError."""
        if not (Path(path) / JOINT_HEADER).is_file():
            return super().load(path, **code)
        joint = _joint_class().load(path, **code)
        return cls(**{name: getattr(joint, name) for name in SHARED})._adopt(joint)


def _joint_class() -> type[JointMultiLabelClassifier]:
    """Imported when it is first needed, as it takes scikit-learn's models with it."""
    from enstruct.estimators.joint import JointMultiLabelClassifier

    return JointMultiLabelClassifier


def _has_none(what: str, method: Any) -> ConfigError:
    return ConfigError(
        f"{what} is answered by a joint distribution over labels, and method={_name(method)} answers by its networks, label by "
        "label: fit method='joint'."
    )


def _name(method: Any) -> str:
    return repr(method) if isinstance(method, str) else repr(getattr(method, "name", method))


def _equal(a: Any, b: Any) -> bool:
    return type(a) is type(b) and isinstance(a, (str, int, float, bool)) and a == b
