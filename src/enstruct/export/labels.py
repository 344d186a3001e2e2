"""Label sets from features: the marginals of the model's networks and trees, its rules, its decision rule."""

from __future__ import annotations

import copy
from functools import partial
from typing import Any, cast

import numpy as np
import torch
from scipy import sparse
from torch import Tensor, nn

from enstruct.encoders.boosted import BoostedTrees
from enstruct.encoders.forest import Forest
from enstruct.encoders.label_tree import LabelTree
from enstruct.encoders.text.pretrained import EncodedText
from enstruct.errors import ConfigError
from enstruct.estimators import AutoMultiLabelClassifier, JointMultiLabelClassifier
from enstruct.estimators.bases import CLIP, MethodBase, ObservedBase, ViewBase
from enstruct.estimators.features import Features
from enstruct.estimators.label_data import LabelData
from enstruct.estimators.legality import Legality
from enstruct.estimators.members import Member
from enstruct.estimators.network_classifier import NetworkClassifier
from enstruct.export.decisions import MostProbable, decision_graph
from enstruct.export.features import ScaledFeatures
from enstruct.export.graph import Arrays, Graph
from enstruct.export.rules import LegalMarginals, LegalSets, RaisedLabels, check_fixed
from enstruct.export.texts import TokenFeatures
from enstruct.export.told import told_of
from enstruct.export.trees import BoostedGraph, ForestGraph
from enstruct.methods import Method
from enstruct.rules.marginals import raised
from enstruct.validation import one_of

Classifier = NetworkClassifier | JointMultiLabelClassifier | AutoMultiLabelClassifier


def label_graph(model: Classifier, decision: str | None = None) -> Graph:
    """Of a fitted classifier: "features" (rows, features), of texts what stands for them (:mod:`enstruct.export.texts`) ->
    "probabilities" (rows, labels), and "label_sets" (rows, labels) of 0 and 1, or of one label a row "class" (rows,), its number
    among the classes.

    ConfigError for methods that answer by inference, and for what else is no fixed graph.
    """
    joint = model if isinstance(model, JointMultiLabelClassifier) else getattr(model, "joint_", None)
    told = told_of(joint or model)
    if joint is not None:
        module: nn.Module = JointGraph(joint, decision)
        answer, labels = partial(_answer_of_joint, joint, decision), joint.labels_
    elif isinstance(model, AutoMultiLabelClassifier):
        module, answer, labels = AutomaticGraph(model, decision), partial(_answer, model, decision), model.labels_
    else:
        network = cast(NetworkClassifier, model)
        module, answer, labels = NetworkGraph(network, decision), partial(_answer, network, decision), network.data_.labels
    single = labels.kind == "single"
    return Graph(
        "model",
        told.before(module).eval(),
        told.axes,
        ("probabilities", "class" if single else "label_sets"),
        partial(told.draw, scale_of(module)),
        lambda inputs: answer(told.given(inputs)),
        {**told.names(labels.classes.tolist()), "decision": "argmax" if single else decision or str(model.decision_)},
        told.tolerance,
    )


def scale_of(module: nn.Module) -> Features | None:
    """Of its networks' features those that know most of their scale."""
    known = [each.features for each in module.modules() if isinstance(each, Marginals)]
    return max(known, key=lambda features: len(features.arrays()), default=None)


# -- parts ------------------------------------------------------------------------------------------


def traceable(predictor: nn.Module) -> nn.Module:
    """The predictor, or what walks its trees in a graph. ConfigError for a tree of labels."""
    if isinstance(predictor, Forest):
        return ForestGraph(predictor)
    if isinstance(predictor, BoostedTrees):
        return BoostedGraph(predictor)
    if isinstance(predictor, LabelTree):
        raise ConfigError(
            "A tree of labels goes into other branches for each row: that is no fixed graph. Export 'binary-relevance', which "
            "has a weight for every label and feature, or a network such as 'cross-entropy'."
        )
    own = copy.deepcopy(predictor).cpu().eval()
    reader = getattr(own, "encoder", None)
    if isinstance(reader, EncodedText):
        own.encoder = TokenFeatures.of(reader)
    return own


def check_answers_itself(method: Method) -> None:
    """ConfigError for a method that answers by inference on its energy."""
    if method.inference is not None:
        raise ConfigError(
            f"{method.name!r} answers by inference on its energy, whose steps end where they end: that is no fixed graph. Export "
            "a network that an energy taught ('infnet', 'seal-nce', of tags 'crf-taught'), or a joint, which mean field answers."
        )


def sigmoid(logits: Tensor) -> Tensor:
    """Of single precision by way of double: onnxruntime's own is 0 far below, and small probabilities are ranked too."""
    return torch.sigmoid(logits.double()).float()


class Marginals(nn.Module):
    """Features -> logits of labels that vary (rows, labels), by a classifier's own predictor."""

    def __init__(self, model: NetworkClassifier) -> None:
        super().__init__()
        check_answers_itself(model._method())
        self.features = model.data_.features
        self.scaled = ScaledFeatures(model.data_.features)
        self.predictor = traceable(model.predictor_)

    def forward(self, x: Tensor) -> Tensor:
        return cast(Tensor, self.predictor(self.scaled(x)))


class Expanded(nn.Module):
    """(rows, labels that vary) -> (rows, labels), the constants in place, or ``otherwise``."""

    varying: Tensor
    fixed: Tensor

    def __init__(self, varying: Any, values: Any, otherwise: float | None = None) -> None:
        super().__init__()
        self.register_buffer("varying", torch.from_numpy(np.asarray(varying, dtype=np.int64)))
        fixed = np.nan_to_num(np.asarray(values, dtype=np.float64))
        if otherwise is not None:
            fixed = np.full_like(fixed, otherwise)
        self.register_buffer("fixed", torch.from_numpy(fixed))
        self.all_vary = len(varying) == len(fixed)

    def forward(self, table: Tensor) -> Tensor:
        table = table.double()
        if self.all_vary:
            return table
        whole = self.fixed.unsqueeze(0).expand(table.shape[0], -1)
        places = self.varying.unsqueeze(0).expand(table.shape[0], -1)
        return whole.scatter(1, places, table)


class Probabilities(nn.Module):
    """What ``predict_proba`` of a classifier of networks gives, and the marginals before labels that never vary join them."""

    def __init__(self, model: NetworkClassifier) -> None:
        super().__init__()
        data: LabelData = model.data_
        self.marginals, self.single = Marginals(model), data.single
        self.expanded = Expanded(data.constants.varying, data.constants.values, -np.inf if data.single else None)
        self.legal = _legal_marginals(model.legality_)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """(rows, labels), and of one label a row logits (rows, classes), else marginals (rows, labels that vary)."""
        logits = self.marginals(x)
        if self.single:
            whole = self.expanded(logits)
            return torch.softmax(nn.functional.logsigmoid(whole), dim=1), whole
        p = sigmoid(logits)
        if self.legal is not None:
            p = self.legal(p.double())
        return self.expanded(p), p


def _legal_marginals(legality: Legality | None) -> nn.Module | None:
    if legality is None:
        return None
    check_fixed(legality.whole)
    return LegalMarginals(legality.varying)


class NetworkGraph(nn.Module):
    def __init__(self, model: NetworkClassifier, decision: str | None) -> None:
        super().__init__()
        self.probabilities, self.single = Probabilities(model), model.data_.single
        if not self.single:
            self.decide = decision_graph(*_rule(model, decision))
            self.expanded = Expanded(model.data_.constants.varying, model.data_.constants.values)
            self.sets = None if model.legality_ is None else LegalSets(model.legality_.whole)

    def forward(self, features: Tensor) -> tuple[Tensor, Tensor]:
        whole, p = self.probabilities(features)
        if self.single:
            return whole.float(), p.argmax(1)
        chosen = self.expanded(self.decide(p)) > 0.5
        if self.sets is not None:
            chosen = self.sets(chosen, whole)
        return whole.float(), chosen.long()


class AutomaticGraph(nn.Module):
    """The mean of the members' probabilities, each method with the same weight."""

    def __init__(self, model: AutoMultiLabelClassifier, decision: str | None) -> None:
        super().__init__()
        members = [model.members_[i] for i in model.groups_[model.chosen_]]
        names = [name for name, _ in members]
        self.members = nn.ModuleList(Probabilities(member) for _, member in members)
        self.weights = [1 / (len(set(names)) * names.count(name)) for name in names]
        self.single = model.labels_.kind == "single"
        self.decide = MostProbable(1) if self.single else decision_graph(*_rule(model, decision))
        legality = members[0][1].legality_
        self.sets = None if legality is None else LegalSets(legality.whole)

    def forward(self, features: Tensor) -> tuple[Tensor, Tensor]:
        parts = [weight * member(features)[0] for weight, member in zip(self.weights, self.members, strict=True)]
        p = sum(parts[1:], parts[0])
        if self.single:
            return p.float(), p.argmax(1)
        chosen = self.decide(p)
        if self.sets is not None:
            chosen = self.sets(chosen, p)
        return p.float(), chosen.long()


class Observed(nn.Module):
    """Marginals of a model of observed labels."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.predictor = traceable(model)

    def forward(self, x: Tensor) -> Tensor:
        return torch.sigmoid(self.predictor(x).double())


class BaseLogits(nn.Module):
    """Features -> log-odds (rows, labels that vary) of a joint's bases, single precision."""

    def __init__(self, model: JointMultiLabelClassifier) -> None:
        super().__init__()
        self.bases = nn.ModuleList(nn.ModuleList(_answering(fitted.base, one) for one in fitted.models) for fitted in model.base_)

    def forward(self, x: Tensor) -> Tensor:
        means = []
        for models in self.bases:
            answers = [self._of(one, x) for one in models]  # type: ignore[attr-defined]
            means.append(sum(answers[1:], answers[0]) / len(answers))
        p = (sum(means[1:], means[0]) / len(means)).clamp(CLIP, 1 - CLIP)
        return (p / (1 - p)).log().float()

    @staticmethod
    def _of(model: nn.Module, x: Tensor) -> Tensor:
        answer = model(x)
        return answer[0] if isinstance(answer, tuple) else answer


class Viewed(nn.Module):
    """A base's model on the columns that it sees of rows of terms and what is behind them."""

    def __init__(self, base: ViewBase, module: nn.Module) -> None:
        super().__init__()
        self.begin = base.n_terms if base.view in ("encoder", "tokens") else 0
        self.end = base.n_terms if base.view == "terms" else None
        self.module = module

    def forward(self, x: Tensor) -> Any:
        return self.module(x[:, self.begin : self.end])


def _answering(base: Any, model: Any) -> nn.Module:
    if isinstance(base, MethodBase):
        return Probabilities(cast(Member, model))
    if isinstance(base, ObservedBase):
        return Observed(model)
    if isinstance(base, ViewBase):
        return Viewed(base, _answering(base.base, model))
    raise ConfigError(
        f"base={base.name} is a model of your own, which enstruct cannot put into its graph: export it by its own library "
        "(skl2onnx, torch.onnx), or fit with base='auto' or a method's name."
    )


class JointGraph(nn.Module):
    """What the joint answers while nothing is told."""

    def __init__(self, model: JointMultiLabelClassifier, decision: str | None) -> None:
        super().__init__()
        self.logits, self.single = BaseLogits(model), model.labels_.kind == "single"
        self.legal = _legal_marginals(model.legality_)
        self.expanded = Expanded(model.varying_, model.constants_)
        self.raised = None if model.legality_ is None else RaisedLabels(model.legality_.whole)
        self.sets = None if model.legality_ is None else LegalSets(model.legality_.whole)
        if not self.single:
            self.decide = decision_graph(*_rule(model, decision))

    def forward(self, features: Tensor) -> tuple[Tensor, Tensor]:
        p = sigmoid(self.logits(features)).double()
        if self.single:
            p = p / p.sum(1, keepdim=True)
            return p.float(), p.argmax(1)
        if self.legal is not None:
            p = self.legal(p)
        whole = self.expanded(p)
        chosen = self.expanded(self.decide(p)) > 0.5
        if self.sets is not None:
            chosen = self.sets(chosen, whole)
        return (whole if self.raised is None else self.raised(whole)).float(), chosen.long()


def _rule(model: Any, decision: str | None) -> tuple[str, Any]:
    """Its name and the fitted rule, by default the one in force. ConfigError for one that was not fitted."""
    name = model.decision_ if decision is None else decision
    if decision is None and name not in model.rules_:
        raise ConfigError(
            f"The decision in force, {name!r}, draws samples from the joint, which is no fixed graph: export with a rule of "
            f"marginals (decision=: {', '.join(model.rules_)})."
        )
    one_of("decision rule", model.rules_)("decision", name)
    return name, model.rules_[name]


# -- what the model says ----------------------------------------------------------------------------


def _answer(model: Any, decision: str | None, X: Any) -> Arrays:
    labels = model.labels_ if isinstance(model, AutoMultiLabelClassifier) else model.data_.labels
    return _named(labels, model.predict_proba(X), model._predicted(X, decision, None, None))


def _answer_of_joint(model: JointMultiLabelClassifier, decision: str | None, X: Any) -> Arrays:
    """Its probabilities are the base's, by which it decides."""
    p = model.base_proba(X)
    p = p if model.legality_ is None else raised(model.legality_.whole, p)
    return _named(model.labels_, p, model._finished(*model._decided(X, None, decision, None), None))


def _named(labels: Any, p: Any, chosen: sparse.csr_matrix) -> Arrays:
    dense = chosen.toarray().astype(np.int64)
    decided = {"class": dense.argmax(1)} if labels.kind == "single" else {"label_sets": dense}
    return {"probabilities": p, **decided}
