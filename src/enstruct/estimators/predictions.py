"""The predicting half of the multi-label estimator: marginals, label sets, energies, samples, saving."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit, log_expit, softmax
from sklearn.base import ClassifierMixin
from torch import nn

from enstruct.baselines import SOLVED
from enstruct.data.rows import Rows
from enstruct.decisions import bayes_risk
from enstruct.decisions.choose import RULES, check_one_rule, make_rule
from enstruct.decisions.thresholds import sets_of_size
from enstruct.encoders import SparseLinear
from enstruct.errors import ConfigError, DataError, ModelFileError
from enstruct.estimators import persistence, saved_values
from enstruct.estimators.base import EnergyEstimator, seed_of
from enstruct.estimators.choices import check_choices
from enstruct.estimators.constants import ConstantLabels, check_increasing
from enstruct.estimators.label_format import LabelFormat
from enstruct.estimators.networks import build_networks
from enstruct.estimators.parameters import LABEL_SETS, Table
from enstruct.estimators.posterior import EnergyPosterior
from enstruct.estimators.preparation import row_weights, scaler_arrays, scaler_from_arrays, validated, weighs_counts
from enstruct.estimators.saved_header import OfLabelSets
from enstruct.estimators.sizes import check_bytes
from enstruct.estimators.warm_start import built_with
from enstruct.inference import Solution, Solver
from enstruct.methods import Method
from enstruct.metrics import get_metric
from enstruct.objectives import Density
from enstruct.randomness import redirected, seeded
from enstruct.spaces import LabelSpace, LabelVectors
from enstruct.training.batches import row_blocks, to_features
from enstruct.training.predict import Problem
from enstruct.validation import check_whole, is_whole, one_of, optional, seed

CERTAIN = 30.0
"""Logit of a label that never varied in training."""


class LabelSetPredictions(ClassifierMixin, EnergyEstimator):
    """What a fitted multi-label estimator answers."""

    _header = OfLabelSets

    n_features_in_: int
    _parameters: ClassVar[Table] = LABEL_SETS

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = weighs_counts(self.standardize, self.method)
        tags.classifier_tags.poor_score = tags.input_tags.positive_only  # of points in a plane it keeps the direction alone
        tags.classifier_tags.multi_label = True
        return tags

    def _new_networks(self, method: Method, train: Rows) -> tuple[nn.Module, nn.Module | None]:
        width = 0 if self.encoder is not None else {**self._architecture(), **method.encoder}["hidden"]
        self._check_batch(len(train), 1, width, train.Y.shape[1], "hidden=")
        self.built_with_ = built_with(self)
        return build_networks(method, train.Y.shape[1], train.X[:1], self.encoder, self.energy_network, self._architecture())

    def _architecture(self) -> dict[str, Any]:
        keys = ("hidden", "layers", "dropout", "nonlinearity")
        return {key: getattr(self, key) for key in keys}

    def _output_space(self, method: Method, n_outputs: int, weight: torch.Tensor | None = None) -> LabelSpace:
        return LabelSpace(n_outputs, method.cost, weight)

    def _logits(self, X: Any, refine: int | None = None, double: bool = False) -> NDArray[Any]:
        """(rows, modelled labels) in the precision of X; in single precision where a network of one's own knows no other."""
        double = double or X.dtype == np.float64
        try:
            return super()._logits(X, refine, double)
        except RuntimeError:
            if not double or (self.encoder is None and not isinstance(self.energy_network, nn.Module)):
                raise
            return super()._logits(X, refine, False)

    labels_: LabelFormat
    constants_: ConstantLabels
    rules_: dict[str, Any]
    decision_: str
    scaler_: Any
    columns_: NDArray[np.intp] | None

    def _posterior(self) -> EnergyPosterior | None:
        if self.energy_ is None or self.density_ is Density.NONE:
            return None
        n = len(self.constants_.varying)
        return EnergyPosterior(self.predictor_, self.energy_, self.density_, n, self.bayes_risk_samples, str(self._device()))

    def _inputs(self, X: Any) -> Any:
        self._check_fitted()
        return self._scaled(validated(self, X, reset=False))

    def _marginals(self, X: Any, refine: int | None = None) -> NDArray[np.float64]:
        """(rows, modelled labels) of scaled rows."""
        return np.asarray(expit(self._logits(X, refine)))

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Logits (rows, labels); constant labels get -30 or 30. Binary 1-D y: (rows,) log-odds of the second class."""
        logits = self._logits(self._inputs(X))
        logits = self.constants_.expand_numbers(logits, np.where(self.constants_.values == 1, CERTAIN, -CERTAIN))
        if self.labels_.kind == "single" and len(self.classes_) == 2:
            return np.asarray(log_expit(logits[:, 1]) - log_expit(logits[:, 0]))
        return logits

    def predict_proba(self, X: Any, *, refine: int | None = None) -> NDArray[np.float64]:
        """Marginal probabilities (rows, labels); for 1-D y they sum to one.

        With one label a row they are the marginals over their sum, as scikit-learn's one-vs-rest classifiers have it.
        Methods that answer by inference give their relaxed minimisers. ``refine``: see :meth:`predict`.
        """
        inputs = self._inputs(X)
        out = np.empty((inputs.shape[0], len(self.constants_.values)))
        for some in self._blocks(inputs):
            out[some] = self._probabilities(self._logits(inputs[some], refine))
        return out

    def _probabilities(self, logits: NDArray[Any]) -> NDArray[np.float64]:
        if self.labels_.kind == "single":
            logits = self.constants_.expand_numbers(logits, -np.inf)  # a class without weight has no chance
            return np.asarray(softmax(log_expit(logits), axis=1))
        p = self.constants_.expand_numbers(expit(logits))
        return p if self.hierarchy is None else self.hierarchy.raise_parents(p)

    def _blocks(self, inputs: Any) -> list[slice]:
        return row_blocks(inputs.shape[0], len(self.constants_.varying))

    def predict(self, X: Any, *, decision: str | None = None, top_k: int | None = None, refine: int | None = None) -> Any:
        """Label sets in the form Y had in ``fit``.

        ``decision`` names another fitted rule for this call; ``top_k`` takes the k most probable labels instead.
        ``refine`` moves the predictor's marginals by so many steps of inference on the learned energy first.
        ConfigError if the method has no energy.
        """
        chosen = self._predicted(X, decision, top_k, refine)
        return self.labels_.decode(chosen)

    def predict_by_rule(self, X: Any) -> dict[str, Any]:
        """Fitted rule -> label sets of the rows as :meth:`predict` gives them under it, from one pass of the networks.

        All answers are held at once. Raises as ``predict`` does.
        """
        self._check_fitted()
        if self.labels_.kind == "single":  # decided by argmax whatever the rule
            return dict.fromkeys(self.rules_, self.predict(X))
        inputs = self._inputs(X)
        found: dict[str, list[sparse.csr_matrix]] = {name: [] for name in self.rules_}
        for some in self._blocks(inputs):
            p = self._marginals(inputs[some])
            for name, parts in found.items():
                parts.append(self._decided(inputs[some], p, name))
        return {name: self.labels_.decode(sparse.vstack(parts, format="csr")) for name, parts in found.items()}

    def _predicted(self, X: Any, decision: str | None, top_k: int | None, refine: int | None) -> sparse.csr_matrix:
        """Indicator (rows, labels), found for some rows at a time: their marginals take the memory."""
        inputs = self._inputs(X)
        check_one_rule(decision, top_k)
        optional(one_of("decision rule", RULES))("decision", decision)
        if top_k is not None:
            check_whole(1, top_k=top_k)
        k = 1 if self.labels_.kind == "single" else top_k
        parts = []
        for some in self._blocks(inputs):
            if k is not None:
                parts.append(self._most_probable(self._logits(inputs[some], refine), k))
            else:
                parts.append(self._decided(inputs[some], self._marginals(inputs[some], refine), decision))
        return sparse.vstack(parts, format="csr")

    def _most_probable(self, logits: NDArray[Any], k: int) -> sparse.csr_matrix:
        """By logits, as marginals near 1 tie; of all labels, those that never varied too."""
        always = np.where(self.constants_.values == 1, np.inf, -np.inf)
        chosen = sets_of_size(self.constants_.expand_numbers(logits, always), k)
        return chosen if self.hierarchy is None or self.labels_.kind == "single" else self.hierarchy.close(chosen)

    def decide(self, X: Any, marginals: NDArray[Any], decision: str | None = None) -> Any:
        """Label sets from marginals (rows, labels that vary) of these rows found elsewhere, as by :meth:`infer`.

        Raises DataError for marginals of another shape, ConfigError for a rule that was not fitted.
        """
        inputs = self._inputs(X)
        expected = (inputs.shape[0], len(self.constants_.varying))
        if np.shape(marginals) != expected:
            raise DataError(f"Marginals of these rows have the shape {expected} (labels that vary), not {np.shape(marginals)}.")
        return self.labels_.decode(self._decided(inputs, np.asarray(marginals), decision))

    def _decided(self, inputs: Any, p: NDArray[Any], decision: str | None) -> sparse.csr_matrix:
        if self.labels_.kind == "single":
            return self._completed(sets_of_size(p, 1))
        rule = self._rule(self.decision_ if decision is None else decision)
        return self._completed(rule.predict(p, inputs))

    def _completed(self, chosen: sparse.csr_matrix) -> sparse.csr_matrix:
        """(rows, labels that vary) -> (rows, labels) with constant labels and, in a hierarchy, all parents."""
        full = self.constants_.expand_indicator(chosen)
        return full if self.hierarchy is None or self.labels_.kind == "single" else self.hierarchy.close(full)

    def set_decision(self, decision: str) -> Self:
        """Put another fitted rule in force, without retraining."""
        self._check_fitted()
        self._rule(decision)
        self.decision_ = decision
        return self

    def _rule(self, name: str) -> Any:
        one_of("decision rule", RULES)("decision", name)
        if name not in self.rules_:
            needs = "validation rows"
            if name == "bayes-risk":
                needs += (
                    f", an energy that estimates a density, and, beyond {bayes_risk.MOST_LABELS} labels, decision='bayes-risk' "
                    "before fit"
                )
            raise ConfigError(f"The rule {name!r} was not fitted (fitted: {', '.join(self.rules_)}); it needs {needs}.")
        rule = self.rules_[name]
        if name == "bayes-risk":
            rule.posterior = self._posterior()
        return rule

    def energy(self, X: Any, y: Any) -> NDArray[np.float64]:
        """(rows,) E(x, y) of given label sets; lower is better. ConfigError if the method has no energy."""
        inputs = self._inputs(X)
        indicator = self.labels_.encode(y)[:, self.constants_.varying]
        if indicator.shape[0] != inputs.shape[0]:
            raise DataError(f"X has {inputs.shape[0]} rows and y {indicator.shape[0]}.")
        out = []
        with torch.no_grad():
            energy = self._energy_network().eval()
            for start in range(0, inputs.shape[0], 1024):
                given = torch.from_numpy(indicator[start : start + 1024].toarray()).unsqueeze(1).to(self._device())
                state = energy.prepare(to_features(inputs[start : start + 1024], self._device()))  # type: ignore[operator]
                out.append(energy(state, LabelVectors.from_dense(given)).squeeze(1).cpu().numpy())
        return np.concatenate(out).astype(np.float64)

    def inference_problem(self, X: Any, bare: bool = False) -> Problem:
        """What inference minimises for these rows, over the labels that vary; ConfigError if the method has no energy.

        For methods that answer by the predictor: what ``refine`` minimises, which adds the predictor's log-probability where the
        energy is relative to it; ``bare`` leaves it out, as the predictor's loss does.
        """
        return self._problem(self._inputs(X).astype(np.float32), bare)

    def infer(self, X: Any, settings: Solver | None = None, **changes: Any) -> Solution:
        """Solve :meth:`inference_problem` of these rows in one batch: marginals of labels that vary, energies, steps, status.

        ``settings``: default :meth:`inference_settings`; ``changes`` are its fields, as starts,
        steps, tolerance, share of :class:`~enstruct.inference.Inference`. ConfigError if the method has no energy.
        """
        return self._minimised(self._inputs(X).astype(np.float32), settings, changes)

    def sample(self, X: Any, n: int = 1, random_state: Any = None) -> NDArray[np.uint8]:
        """(rows, n, labels) independent draws from the predictor's distribution."""
        check_whole(1, n=n)
        seed("random_state", random_state)
        logits = torch.from_numpy(self._logits(self._inputs(X)))
        check_bytes("The draws", logits.numel() * n, "n=, or the number of rows,")
        space = LabelSpace(logits.shape[1])
        start = self.random_state if random_state is None else random_state
        with seeded(int(random_state) if is_whole(random_state) else seed_of(start)):
            drawn = space.sample(logits, n).to_dense().numpy()
        return self.constants_.expand_numbers(drawn).astype(np.uint8)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """``metric`` of ``predict(X)`` (accuracy for 1-D y)."""
        predicted = self._predicted(X, None, None, None)
        if sample_weight is not None:
            sample_weight = row_weights(sample_weight, predicted)
            if not sample_weight.sum() > 0:
                raise DataError("Every sample weight is zero.")
        name = "subset-accuracy" if self.labels_.kind == "single" else self.metric
        return get_metric(name)(self.labels_.encode(y), predicted, sample_weight)

    # -- saving -----------------------------------------------------------------------------------

    def save(self, path: Path | str, notes: dict[str, Any] | None = None) -> None:
        """Write a model folder (see :mod:`enstruct.estimators.persistence`), whole or not at all.

        A custom ``encoder``, ``energy_network`` module, ``inference`` or ``Method`` object is code: it is named in the folder and
        must be passed to :meth:`load`. ``notes`` (plain JSON values) travel along and come back as ``notes_``.
        Raises SaveError, ModelFileError.
        """
        self._check_fitted()
        held = {
            "labels": self.labels_.to_json(),
            "input": {
                "n_features": self.n_features_in_,
                "names": list(getattr(self, "feature_names_in_", [])),
                "sparse": self._takes_sparse(),
            },
            "rules": {name: saved_values.encode_rule(rule) for name, rule in self.rules_.items()},
        }
        tensors = {
            **{f"scaler/{k}": torch.from_numpy(v) for k, v in scaler_arrays(self.scaler_).items()},
            "varying": torch.from_numpy(self.constants_.varying),
            "constants": torch.from_numpy(self.constants_.values),
            **({} if self.columns_ is None else {"columns": torch.from_numpy(self.columns_)}),
        }
        self._save(path, held, notes, tensors)

    def _check_parameters(self) -> None:
        check_choices(self)

    def _restore(self, header: dict[str, Any], weights: persistence.Weights) -> None:
        given, shapes = header["input"], weights.shapes
        self.labels_ = LabelFormat.from_json(header["labels"])
        self.classes_, self.n_features_in_ = self.labels_.classes, given["n_features"]
        if given["names"]:
            self.feature_names_in_ = np.array(given["names"], dtype=object)
            if len(given["names"]) != self.n_features_in_:
                raise ValueError(f"{len(given['names'])} names of {self.n_features_in_} features")
        scaled = [key.removeprefix("scaler/") for key in shapes if key.startswith("scaler/")]
        weights.check("scaler/", dict.fromkeys(scaled, (self.n_features_in_,)))
        if self.hierarchy is not None:
            self.hierarchy.close(
                sparse.csr_matrix((0, self.labels_.n_labels), dtype=np.uint8)
            )  # DataError for one of other labels
        (n_varying,), n_columns = shapes["varying"], shapes.get("columns", (self.n_features_in_,))[0]
        self._restore_networks(weights, n_varying, n_columns, given["sparse"])
        tensors = weights.read()
        self.constants_ = ConstantLabels(tensors["varying"].numpy(), tensors["constants"].numpy())
        self.constants_.check(self.labels_.n_labels)
        self.scaler_ = scaler_from_arrays({k: v.numpy() for k, v in persistence.under(tensors, "scaler/").items()})
        self.columns_ = tensors["columns"].numpy() if "columns" in tensors else None
        check_increasing("columns", np.arange(0) if self.columns_ is None else self.columns_, self.n_features_in_)
        self._load_record(header)
        rules = header["rules"]
        self.rules_ = {name: saved_values.decode_rule(make_rule(name), content) for name, content in rules.items()}
        if "per-label" in self.rules_:
            if np.shape(self.rules_["per-label"].thresholds) not in ((), (n_varying,)):
                raise ValueError(f"its thresholds are not those of {n_varying} labels")
            thresholds = np.broadcast_to(self.rules_["per-label"].thresholds, n_varying)
            self.thresholds_ = self.constants_.expand_numbers(thresholds, 0.5)

    def _check_built(self, who: str) -> None:
        """ConfigError for settings that networks of others would be made of, and for what could not be loaded."""
        solver = self._method().solver
        if solver is not None and solver not in SOLVED:
            raise ConfigError(f"What the solver {solver!r} fitted cannot be saved: it is not one of enstruct's.")
        if solver is not None:
            return  # it makes what it needs of the data
        asked = built_with(self)
        if changed := [name for name, value in asked.items() if getattr(self, "built_with_", asked)[name] != value]:
            raise ConfigError(
                f"{who}: the networks were made with another {', '.join(changed)} than the estimator has now (set_params after "
                "fit?): set it back, or fit anew."
            )

    def _restore_networks(self, weights: persistence.Weights, n_labels: int, n_features: int, takes_sparse: bool) -> None:
        method = self._method()
        if method.solver is not None:
            if method.solver not in SOLVED:
                raise ModelFileError(f"What the solver {method.solver!r} fitted cannot be loaded: it is not one of enstruct's.")
            with seeded(0), redirected():
                solved = SOLVED[method.solver].restored(persistence.under(weights.read(), "predictor/"), n_features, n_labels)
            self.predictor_, self.energy_ = solved.to(self._device()), None
            return
        shape = (1, n_features)
        example = sparse.csr_matrix(shape, dtype=np.float32) if takes_sparse else np.zeros(shape, dtype=np.float32)
        self.built_with_ = built_with(self)
        self._load_networks(
            weights,
            lambda: build_networks(method, n_labels, example, self.encoder, self.energy_network, self._architecture()),
        )

    def _takes_sparse(self) -> bool:
        return any(isinstance(m, SparseLinear) for m in self.predictor_.modules())
