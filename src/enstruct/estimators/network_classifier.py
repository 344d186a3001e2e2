"""``NetworkClassifier``: label sets by the networks of one method, the scikit-learn way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Self, cast

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if

from enstruct.data.mapped import MappedRows
from enstruct.data.rows import Rows
from enstruct.data.texts import as_texts
from enstruct.decisions.choose import check_one_rule
from enstruct.decisions.monitors import LabelSetMonitor
from enstruct.encoders import Predictor, SparseLinear
from enstruct.encoders.label_texts import LabelTextPredictor
from enstruct.encoders.text import TextEncoder
from enstruct.energies import EnergySpec
from enstruct.errors import ConfigError, DataError
from enstruct.estimators.base import EnergyEstimator, Training, has_passes, seed_of
from enstruct.estimators.features import Features, validated
from enstruct.estimators.label_answers import LabelAnswers
from enstruct.estimators.label_data import ConstantLabels, LabelData, as_before, check_same_labels, check_width, example_row
from enstruct.estimators.label_format import LabelFormat
from enstruct.estimators.label_rows import for_rules, hold_out, label_rows, merge_duplicates, row_weights, with_weight
from enstruct.estimators.label_rules import LabelRules, check_decision, check_suits
from enstruct.estimators.label_texts import texts_of, vectors_of
from enstruct.estimators.legality import Legality, check_as_fitted, system_of
from enstruct.estimators.linear_probe import begin_at_probe
from enstruct.estimators.networks import Pair, build_networks
from enstruct.estimators.parameters import LABEL_SETS, are_classes
from enstruct.estimators.persistence import Weights
from enstruct.estimators.posterior import EnergyPosterior
from enstruct.estimators.renamed import refuse_renamed
from enstruct.estimators.restore_on_failure import restore_on_failure
from enstruct.estimators.saved_header import OfLabelSets
from enstruct.estimators.texts import input_record, restore_input
from enstruct.estimators.told import truth_of
from enstruct.methods import METHODS, Method
from enstruct.metrics import get_metric
from enstruct.randomness import seeded
from enstruct.tasks import LABELS
from enstruct.training.rule_terms import LabelRuleTerm
from enstruct.validation import both_or_neither, check_whole, is_whole, optional, seed

SAMPLES = 300
"""Label sets a row that the decision "bayes-risk" draws from the predictor and weighs by the energy."""


def scaling_of(standardize: Any, method: Any) -> Any:
    """What ``standardize="auto"`` stands for with this method, or its name, whatever the two are: tags are read early."""
    row = METHODS.get(method) if isinstance(method, str) else method
    return getattr(row, "scaling", "auto") if isinstance(standardize, str) and standardize == "auto" else standardize


class NetworkClassifier(ClassifierMixin, EnergyEstimator):
    """Networks that answer for label sets, and what takes their place: every row of ``enstruct.METHODS``.

    Minimises, over the predictor F and an energy network E that learns beside it,

        CE(F(x), y) + w E(x, F(x))

    where E is trained to tell the true label set from those F proposes (SEAL). At prediction F answers alone,
    and a decision rule fitted on validation rows turns its marginals into label sets. Methods that answer by
    inference minimise E over relaxed label sets instead, and the same rules decide on the minimiser.

    Parameters and attributes are those of :class:`~enstruct.EnergyMultiLabelClassifier`, which is this one whenever a method of
    networks is named.
    """

    @refuse_renamed
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

    _task = LABELS
    _parameters = LABEL_SETS
    _header = OfLabelSets
    _of_networks = ("hidden", "layers", "dropout", "nonlinearity")

    data_: LabelData
    _fits_rules = True
    _maps_rows = True
    _validation_weight: Any = None  # of the rows in X_val
    _classes: Any = None  # all there are, where the rows of fit may lack some

    def _check_parameters(self) -> Method:
        method = super()._check_parameters()
        check_suits(method, self.decision)
        if method.solver is not None and isinstance(self._network_encoder(), TextEncoder):
            raise ConfigError(
                f"encoder= is tuned with a network, and {method.name!r} has none: take tuning='frozen', or another method."
            )
        if method.solver is not None and isinstance(self.encoder, TextEncoder):
            self.encoder.check_reads_no_labels(repr(method.name))
        return method

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.string = isinstance(self.encoder, TextEncoder)  # a joint on this classifier hands it texts
        tags.input_tags.positive_only = str(scaling_of(self.standardize, self.method)) == "tfidf"
        tags.classifier_tags.poor_score = tags.input_tags.positive_only  # of points in a plane it keeps the direction alone
        tags.classifier_tags.multi_label = True
        return tags

    # -- fitting ----------------------------------------------------------------------------------

    @refuse_renamed
    @restore_on_failure
    def fit(self, X: Any, y: Any, sample_weight: Any = None, X_val: Any = None, y_val: Any = None) -> Self:
        """Train on rows X (dense, CSR or DataFrame) and label sets y (see ``LabelFormat``).

        ``X_val, y_val`` serve early stopping and the decision rules; without them a stratified part of the rows
        is held out. Raises DataError for unusable data, ConfigError for unknown settings, DivergenceError.
        """
        method = self._check_parameters()
        validates, goes_on = both_or_neither(X_val=X_val, y_val=y_val), self._goes_on(method)
        on_texts = goes_on and hasattr(self, "text_")  # whose terms keep their columns
        if goes_on and not on_texts:
            check_width(self.n_features_in_, X)
        X = validated(self, X, reset=not on_texts)
        labels = LabelFormat.infer(y, self._classes)
        rows = merge_duplicates(label_rows(X, y, sample_weight, labels, self.class_weight))
        learns = self.learn_constant and method.solver is None
        constants = ConstantLabels.none(rows.Y.shape[1]) if learns else ConstantLabels.find(rows.Y)
        start = seed_of(self.random_state)
        train, validation = (rows, None) if validates else hold_out(rows, self.early_stopping, self.validation_fraction, start)
        if validates:
            validation = with_weight(
                label_rows(validated(self, X_val, reset=False), y_val, self._validation_weight, labels, self.class_weight)
            )
        if (system := system_of(self.rules, labels)) is not None:
            system.check_rows(rows.Y)
        check_decision(self.decision, labels, validation, method.validation_epochs)
        features = Features.fit(train.X, scaling_of(self.standardize, method), choose=self._makes_networks())
        if goes_on:
            check_same_labels(self.data_, labels, constants)
            features = as_before(features, self.data_.features, train.X)
        self._learn(labels, constants, features)
        train, validation = self.data_.modelled(train), None if validation is None else self.data_.modelled(validation)
        self._forget_passes()
        training = self._training(method, train, validation, start, rows.Y)
        learns_head = any(stage.predictor for stage in method.stages) and self._label_texts is None
        if learns_head and isinstance(self._network_encoder(), TextEncoder):
            training = training._replace(build=partial(self._build_on_probe, training))
        game = self._train(training)
        self._decide_by(LabelRules())
        if self._fits_rules and validation is not None and not self.data_.single:
            answers, judges = self._answers(), for_rules(validation)
            p = answers.legal(answers.marginals(judges.X))
            self._decide_by(LabelRules.fit(p, judges, self.metric, self.decision, self._posterior(method)))
        if game is not None and validation is not None and method.validation_epochs:
            self._refine_on(validation, game, training.monitor, start)
        return self

    @available_if(has_passes)
    @restore_on_failure
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """One pass over these rows, by the method's first stage.

        On a fitted (or loaded) estimator it goes on with its networks, labels, scaling and decision rules. On a new one the
        first call fixes the labels (``classes``, or those of y) and the scaling, and the decision stays at 0.5, as no rows are
        held out. A later call that fails or is interrupted keeps the updates of the batches that it has seen.
        """
        new, method = not hasattr(self, "predictor_"), self._check_parameters()
        optional(are_classes)("classes", classes)
        if self.class_weight == "balanced":
            raise ConfigError("class_weight='balanced' needs all rows at once; give partial_fit a dict of weights.")
        X = validated(self, X, reset=new)
        if new:
            labels = LabelFormat.infer(y, classes)
            features = Features.fit(X, scaling_of(self.standardize, method), choose=False)  # later calls may bring more
            self._learn(labels, ConstantLabels.none(labels.n_labels), features)
            self._decide_by(LabelRules())
            self.history_ = []
        rows = label_rows(X, y, sample_weight, self.data_.labels, self.class_weight)
        if new and (system := system_of(self.rules, self.data_.labels)) is not None:
            system.check_rows(rows.Y)
        unit = self._weight_unit(1.0 if rows.weight is None else rows.weight)
        weight = None if rows.weight is None else rows.weight / unit
        rows = merge_duplicates(Rows(rows.X, rows.Y, weight), even=False)
        self.data_.constants.warn_if_they_vary(rows.Y)
        rows = self.data_.modelled(rows)
        start = 0 if hasattr(self, "partial_game_") else seed_of(self.random_state)
        self._train_one_pass(self._training(method, rows, None, start, rows.Y), new)
        return self

    def _training(self, method: Method, rows: Rows, validation: Rows | None, seed: int, Y: sparse.csr_matrix) -> Training:
        """``Y`` (rows, labels that all came with), of which the weights of positives are counted."""
        return Training(
            method,
            rows,
            validation,
            LabelSetMonitor(self.metric, self.decision, self.data_.single, self.monitor),
            seed,
            lambda: self._build(method, rows.X[:1], rows.Y.shape[1], len(rows), self._vectors_of_varying()),
            positive_weight=self.data_.positive_weight(self.class_weight, Y),
            rules=LabelRuleTerm(self.legality_.varying) if method.predictor_loss.rule_weight and self.legality_ else None,
        )

    def _build_on_probe(self, training: Training) -> Pair:
        """Networks whose predictor begins at a regression on the features of an encoder that is then tuned."""
        predictor, energy = training.build()
        begin_at_probe(
            cast(Predictor, predictor),
            training.rows,
            training.validation,
            training.positive_weight,
            self.metric,
            self._device(),
            self._should_stop,
        )
        return predictor, energy

    def _learn(self, labels: LabelFormat, constants: ConstantLabels, features: Features) -> None:
        names = tuple(getattr(self, "feature_names_in_", ()))
        self.data_, self.classes_ = LabelData(labels, constants, features, self.n_features_in_, names), labels.classes
        self.legality_ = Legality.of(system_of(self.rules, labels), constants.values)

    def _makes_networks(self) -> bool:
        """Whether both networks are made here, for as many features as there are, or brought by the caller."""
        return self._network_encoder() is None and (self.energy_network is None or isinstance(self.energy_network, EnergySpec))

    def _build(
        self, method: Method, example: Any, n_labels: int, n_rows: int = 1, label_vectors: NDArray[np.float32] | None = None
    ) -> Pair:
        """(predictor, energy or None) for rows like the example."""
        example = example.read() if isinstance(example, MappedRows) else example
        architecture = {name: getattr(self, name) for name in self._of_networks}
        encoder = self._network_encoder()
        width = 0 if encoder is not None else {**architecture, **method.encoder}["hidden"]
        self._check_batch(method, n_rows, 1, width, n_labels, "hidden=")
        return build_networks(method, n_labels, example, encoder, self.energy_network, architecture, label_vectors)

    @property
    def _label_texts(self) -> Any:
        return self.encoder.label_texts if isinstance(self.encoder, TextEncoder) else None

    def _vectors_of_varying(self) -> NDArray[np.float32] | None:
        """(labels that vary, width) of their texts, where the predictor reads them."""
        if self._label_texts is None:
            return None
        return self._label_vectors(texts_of(self._label_texts, self.data_.labels.classes))[self.data_.constants.varying]

    def _label_vectors(self, texts: list[str]) -> NDArray[np.float32]:
        """(texts, width), scaled as rows are."""
        vectors = vectors_of(self.encoder, texts)
        return vectors if self._network_encoder() is not None else np.asarray(self.data_.features(vectors), dtype=np.float32)

    def _decide_by(self, decisions: LabelRules) -> None:
        self.rules_, self.decision_, self.decision_scores_ = decisions.rules, decisions.decision, decisions.scores
        self.__dict__.pop("thresholds_", None)
        thresholds = decisions.thresholds(self.data_.n_varying)
        if thresholds is not None:
            self.thresholds_ = self.data_.constants.expand_numbers(thresholds, 0.5)

    # -- answers ----------------------------------------------------------------------------------

    def _answers(self) -> LabelAnswers:
        networks, rules = self._networks(), LabelRules(self.rules_, self.decision_)
        posterior = partial(self._posterior, networks.method)
        return LabelAnswers(networks, self.data_, rules, posterior, self.legality_, self._makes_networks())

    def _inputs(self, X: Any) -> Any:
        """For the networks, which come first: they ask whether the classifier is fitted."""
        return self.data_.features(validated(self, X, reset=False))

    def _inference_inputs(self, X: Any) -> Any:
        inputs = self._inputs(X)
        return inputs if isinstance(inputs, MappedRows) else inputs.astype(np.float32)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Logits (rows, labels); constant labels get -30 or 30. Binary 1-D y: (rows,) log-odds of the second class."""
        return self._answers().log_odds(self._inputs(X))

    def predict_proba(self, X: Any, *, refine: int | None = None) -> NDArray[np.float64]:
        """Marginal probabilities (rows, labels); for 1-D y they sum to one.

        With one label a row they are the marginals over their sum, as scikit-learn's one-vs-rest classifiers have it.
        Methods that answer by inference give their relaxed minimisers. ``refine``: see :meth:`predict`.
        """
        return self._answers().probabilities(self._inputs(X), refine)

    def predict(self, X: Any, *, decision: str | None = None, top_k: int | None = None, refine: int | None = None) -> Any:
        """Label sets in the form y had in ``fit``.

        ``decision`` names another fitted rule for this call; ``top_k`` takes the k most probable labels instead.
        ``refine`` moves the predictor's marginals by so many steps of inference on the learned energy first.
        ConfigError if the method has no energy.
        """
        label_sets = self._predicted(X, decision, top_k, refine)
        return self.data_.labels.decode(label_sets)

    def _predicted(
        self, X: Any, decision: str | None = None, top_k: int | None = None, refine: int | None = None
    ) -> sparse.csr_matrix:
        """Indicator (rows, labels)."""
        answers, inputs = self._answers(), self._inputs(X)
        if top_k is None:
            return answers.label_sets(inputs, decision, refine)
        check_one_rule(decision, top_k)
        check_whole(1, top_k=top_k)
        return answers.most_probable(inputs, top_k, refine)

    def predict_by_rule(self, X: Any) -> dict[str, Any]:
        """Fitted rule -> label sets of the rows as :meth:`predict` gives them under it, from one pass of the networks.

        All answers are held at once. Raises as ``predict`` does.
        """
        answers = self._answers()
        if self.data_.single:  # decided by argmax whatever the rule
            return dict.fromkeys(self.rules_, self.predict(X))
        return {name: self.data_.labels.decode(chosen) for name, chosen in answers.by_rule(self._inputs(X)).items()}

    def decide(self, X: Any, marginals: NDArray[Any], decision: str | None = None) -> Any:
        """Label sets from marginals (rows, labels that vary) of these rows found elsewhere, as by :meth:`infer`.

        Raises DataError for marginals of another shape, ConfigError for a rule that was not fitted.
        """
        answers, inputs = self._answers(), self._inputs(X)
        expected = (inputs.shape[0], self.data_.n_varying)
        if np.shape(marginals) != expected:
            raise DataError(f"Marginals of these rows have the shape {expected} (labels that vary), not {np.shape(marginals)}.")
        return self.data_.labels.decode(answers.decided(inputs, np.asarray(marginals), decision))

    def set_decision(self, decision: str) -> Self:
        """Put another fitted rule in force, without retraining."""
        answers = self._answers()
        answers.rules.named(decision, answers.posterior)
        self.decision_ = decision
        return self

    def _posterior(self, method: Method) -> EnergyPosterior | None:
        if self.energy_ is None or not method.is_density:
            return None
        networks = self.predictor_, self.energy_, method.density
        return EnergyPosterior(*networks, self.data_.n_varying, SAMPLES, str(self._device()))

    def predict_new(self, X: Any, label_texts: Sequence[str]) -> NDArray[np.float64]:
        """(rows, texts) probabilities of labels that training knew nothing of, by their names or descriptions.

        They come from how alike the encoder finds a row and a label's text, learnt on the labels of ``fit``, and know nothing
        of how often a label is there. ConfigError for a model without ``label_texts``.
        """
        networks = self._networks()
        if not isinstance(self.predictor_, LabelTextPredictor):
            raise ConfigError(
                "predict_new needs a model that reads its labels: fit it with encoder=TextEncoder(..., label_texts=)"
            )
        if isinstance(label_texts, (str, Mapping)) or not len(label_texts):
            raise DataError("predict_new takes the texts of new labels as a list, one at least, as ['oil trade'].")
        vectors = torch.from_numpy(self._label_vectors(as_texts(label_texts))).to(self._device())
        return networks.of_other_labels(self._inputs(X), vectors)

    def energy(self, X: Any, y: Any) -> NDArray[np.float64]:
        """(rows,) E(x, y) of given label sets; lower is better. ConfigError if the method has no energy."""
        networks, inputs, indicator = self._networks(), self._inputs(X), self.data_.labels.encode(y)
        if indicator.shape[0] != inputs.shape[0]:
            raise DataError(f"X has {inputs.shape[0]} rows and y {indicator.shape[0]}.")
        return networks.energies(Rows(inputs, indicator[:, self.data_.constants.varying]))

    def sample(self, X: Any, n: int = 1, random_state: Any = None) -> NDArray[np.uint8]:
        """(rows, n, labels) draws of independent labels, by the predictor's marginals; ConfigError of methods whose energy
        answers, which have no such distribution."""
        check_whole(1, n=n)
        if (method := self._method()).inference is not None:
            raise ConfigError(
                f"method={method.name!r} answers by inference on its energy, whose minimum is no distribution to be sampled: "
                "take method='joint', whose samples are of whole label sets, or a method with a predictor that answers."
            )
        seed("random_state", random_state)
        answers, start = self._answers(), self.random_state if random_state is None else random_state
        with seeded(int(random_state) if is_whole(random_state) else seed_of(start)):
            return answers.sample(self._inputs(X), n)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """``metric`` of ``predict(X)`` (accuracy for 1-D y); where y has holes, of the labels that are known."""
        predicted = self._predicted(X)
        weight = None if sample_weight is None else row_weights(sample_weight, predicted)
        name = "subset-accuracy" if self.data_.single else self.metric
        return get_metric(name)(truth_of(y, self.data_.labels), predicted, weight)

    # -- saving -----------------------------------------------------------------------------------

    def _record(self) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
        check_as_fitted(self.rules, () if self.legality_ is None else self.legality_.whole.rules, self.data_.single)
        sparse_input = any(isinstance(module, SparseLinear) for module in self.predictor_.modules())
        record = {"labels": self.data_.labels.record(), "input": input_record(self, sparse=sparse_input)}
        tensors = {name: torch.from_numpy(array) for name, array in self.data_.arrays().items()}
        return {**record, "rules": LabelRules(self.rules_).record()}, tensors

    def _restore(self, header: OfLabelSets, weights: Weights) -> None:
        restore_input(self, header.input)
        example, n_varying = example_row(header, weights), weights.shapes["varying"][0]
        to_come = None if self._label_texts is None else np.zeros((n_varying, self.encoder.trunk.width), dtype=np.float32)
        tensors = self._load_networks(weights, lambda: self._build(self._method(), example, n_varying, label_vectors=to_come))
        data = LabelData.from_record(header, {name: tensor.numpy() for name, tensor in tensors.items()})
        self._learn(data.labels, data.constants, data.features)
        self._decide_by(LabelRules.from_record(header.rules, header.decision, header.decision_scores, n_varying))
