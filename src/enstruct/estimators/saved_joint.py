"""The folder of a joint classifier: joint.json, weights.safetensors, and a folder for each member of its bases.

weights.safetensors holds energy/..., constants (NaN for labels that vary), and observed-i/... of bases that learn
observed labels. A base that is somebody's classifier is named in the header and passed to ``load``, as nothing runs its code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from enstruct.decisions.risk import RISKS
from enstruct.encoders.text import TextEncoder
from enstruct.energies.residual import ResidualEnergy
from enstruct.errors import ModelFileError, shown
from enstruct.estimators import persistence, saved_values
from enstruct.estimators.bases import OBSERVED, Base, MethodBase, ObservedBase, ViewBase
from enstruct.estimators.classifier_base import ClassifierBase, takes_label_sets
from enstruct.estimators.cross_fitting import CrossFitted
from enstruct.estimators.label_format import LabelFormat
from enstruct.estimators.label_rules import LabelRules
from enstruct.estimators.legality import Legality, check_as_fitted, system_of
from enstruct.estimators.members import Member
from enstruct.estimators.parameters import JOINT, check_parameters
from enstruct.estimators.saved_header import OfJoint
from enstruct.estimators.texts import input_record, lying, restore_input
from enstruct.estimators.trained_base import TrainedBase, answer_of, is_trained
from enstruct.randomness import redirected, seeded

Tensors = dict[str, torch.Tensor]


class SavedJoint(BaseEstimator):
    """Saving and loading of what ``fit`` has left."""

    labels_: LabelFormat
    constants_: NDArray[np.float64]
    base_: Sequence[CrossFitted]
    base_scores_: dict[str, float]
    energy_: ResidualEnergy
    terms_: str
    likelihoods_: dict[str, float]
    marginals_of_: str
    rules_: dict[str, Any]
    decision_: str
    decision_scores_: dict[str, float]
    seed_: int
    n_features_in_: int
    legality_: Legality | None

    def save(self, path: Path | str, notes: dict[str, Any] | None = None) -> None:
        """Write a model folder (:mod:`enstruct.estimators.saved_joint`), whole or not at all; ``notes`` travel along.

        A base that is somebody's classifier is named there, and passed to :meth:`load`. Raises SaveError, ModelFileError.
        """
        check_is_fitted(self, "energy_")
        check_as_fitted(self.rules, () if self.legality_ is None else self.legality_.whole.rules, self._single)
        parameters = self.get_params(deep=False)
        custom = [name for name in ("base",) if saved_values.is_code(parameters[name])]
        members = members_of(self.base_)
        header = {
            "format": persistence.FORMAT,
            "estimator": type(self).__name__,
            "parameters": {k: saved_values.encode_parameter(k, v) for k, v in parameters.items() if k not in custom},
            "custom": custom,
            "labels": self.labels_.record(),
            "input": input_record(self),
            "bases": base_records(self.base_),
            "members": [member._method().name for member in members],
            "base_scores": self.base_scores_,
            "energy": energy_record(self.energy_),
            "terms": self.terms_,
            "likelihoods": self.likelihoods_,
            "marginals_of": self.marginals_of_,
            "decision": self.decision_,
            "decision_scores": self.decision_scores_,
            "rules": LabelRules(self.rules_).record(),
            "seed": self.seed_,
            "notes": notes if notes is not None else getattr(self, "notes_", {}),
        }
        tensors = {f"energy/{name}": tensor for name, tensor in self.energy_.state_dict().items()}
        tensors |= {"constants": torch.from_numpy(self.constants_), **base_tensors(self.base_)}

        def fill(folder: Path) -> None:
            digest = persistence.write_weights(folder, tensors)
            (folder / persistence.JOINT).write_text(persistence.to_json({**header, "weights": digest}), encoding="utf-8")
            for i, member in enumerate(members):
                member.save(folder / f"member-{i}")

        persistence.put_folder(Path(path), fill, type(self).__name__)

    @classmethod
    def load(cls, path: Path | str, *, base: Any = None, encoder: TextEncoder | str | Path | None = None) -> Self:
        """A saved model. ``base``: the fitted classifier, or the list of one a label, where it was somebody's own; ``encoder``:
        where texts' encoder lies now. Raises ModelFileError, and ConfigError for an encoder that it was saved without."""
        return persistence.steadily(path, lambda folder: cls._loaded(folder, base, encoder))

    @classmethod
    def _loaded(cls, folder: Path, base: Any, place: Any) -> Self:
        header, parameters = persistence.header_of(cls, OfJoint, folder, persistence.JOINT)
        moved = lying(parameters, place)
        tensors = persistence.Weights(folder, header.weights).read()
        with persistence.fitting_parts(folder):
            model = cls(**{"base": base, **parameters, **moved})
            check_parameters(model, JOINT)
            model.labels_, names = LabelFormat.from_record(header.labels), header.input.names
            restore_input(model, header.input)
            model.constants_ = tensors["constants"].numpy().astype(np.float64)
            if model.constants_.shape != (model.labels_.n_labels,) or len(names) not in (0, model.n_features_in_):
                raise ValueError("its constants or names are of another number")
            model.classes_, model.varying_ = model.labels_.classes, np.flatnonzero(np.isnan(model.constants_))
            n = len(model.varying_)
            model.legality_ = Legality.of(system_of(model.rules, model.labels_), model.constants_)
            model.energy_ = read_energy(header, tensors, n)
            n_terms = getattr(getattr(model, "text_", None), "n_terms", None)
            tuned = moved if moved and not moved["encoder"].frozen else {}
            model.base_ = read_bases(header, folder, tensors, model.constants_, model.metric, base, n_terms, tuned)
            of_marginals = "fixed" if header.decision in RISKS else header.decision
            rules = LabelRules.from_record(header.rules, of_marginals, header.decision_scores, n)
        model.rules_, model.decision_, model.decision_scores_ = rules.rules, header.decision, rules.scores
        model.base_scores_, model.likelihoods_, model.terms_ = header.base_scores, header.likelihoods, header.terms
        model.marginals_of_, model.seed_, model.notes_ = header.marginals_of, header.seed, header.notes
        return model


def base_records(bases: Sequence[CrossFitted]) -> list[dict[str, Any]]:
    """What the header says of each."""
    kinds = {MethodBase: "method", ObservedBase: "observed", ClassifierBase: "classifier", TrainedBase: "function"}
    return [
        {
            "kind": kinds[type(_inner(one))],
            "name": _inner(one).name,
            "members": _n_members(one),
            **({"view": one.base.view} if isinstance(one.base, ViewBase) else {}),
        }
        for one in bases
    ]


def _inner(one: CrossFitted) -> Base:
    """The base, whatever part of the columns it sees."""
    return one.base.base if isinstance(one.base, ViewBase) else one.base


def members_of(bases: Sequence[CrossFitted]) -> list[Member]:
    """The models that have folders of their own, in the order of the bases."""
    return [model for one in bases if isinstance(_inner(one), MethodBase) for model in one.models]


def base_tensors(bases: Sequence[CrossFitted]) -> Tensors:
    observed = {
        place: model
        for i, one in enumerate(bases)
        if isinstance(_inner(one), ObservedBase)
        for place, model in zip(_places(i, _n_members(one)), one.models, strict=True)
    }
    return {f"{place}/{name}": value for place, model in observed.items() for name, value in model.state_dict().items()}


def _places(i: int, members: int) -> list[str]:
    """Where the tensors of base i's models of observed labels are: of one model that is fitted to all rows, or of several."""
    return [f"observed-{i}-{k}" for k in range(members)] or [f"observed-{i}"]


def energy_record(energy: ResidualEnergy) -> dict[str, Any]:
    units = 0 if energy.matrix is None else energy.matrix.shape[1]
    rank = 0 if energy.left is None else energy.left.shape[1]
    smoothed = energy.smoothing is not None
    return {"pairs": energy.pairs, "units": units, "stacked": energy.stack is not None, "rank": rank, "smoothed": smoothed}


def read_energy(header: OfJoint, tensors: Tensors, n_labels: int) -> ResidualEnergy:
    with seeded(0), redirected():
        own = header.energy
        energy = ResidualEnergy(n_labels, own.pairs, own.units, own.stacked, rank=own.rank, smoothed=own.smoothed)
    unbounded = {"lowest": energy.lowest, "highest": energy.highest}  # as files of older versions leave them
    energy.load_state_dict({**unbounded, **persistence.under(tensors, "energy/")})
    return energy.eval()


def read_bases(
    header: OfJoint,
    folder: Path,
    tensors: Tensors,
    constants: NDArray[np.float64],
    metric: str,
    custom: Any,
    n_terms: int | None,
    of_members: Mapping[str, Any],
) -> list[CrossFitted]:
    """``n_terms``: columns of terms, where texts have features beside them; ``of_members``: what their loading takes.

    ``custom``: the fitted classifier that stands for a base of kind "classifier". ModelFileError where it is missing."""
    bases, number, varying = [], 0, np.flatnonzero(np.isnan(constants))
    n_labels = len(varying)
    for i, record in enumerate(header.bases):
        base: Any
        models: list[Any]
        if isinstance(record.view, str) != (n_terms is not None):
            raise ValueError("its bases see other parts of its texts than there are")
        n_features = header.input.n_features
        if n_terms is not None:
            n_features = {"terms": n_terms, "both": n_features}.get(str(record.view), n_features - n_terms)
        if record.kind == "method":
            own = {} if record.view == "terms" else of_members
            models = [Member.load(folder / f"member-{number + k}", **own) for k in range(record.members)]
            number += record.members
            if {(model.n_features_in_, model.data_.labels.n_labels) for model in models} != {(n_features, n_labels)}:
                raise ValueError("its members have other features or labels than it has itself")
            base = MethodBase(models[0]._method(), metric)
        elif record.kind == "observed":
            if record.members != len({name.split("/")[0] for name in tensors if name.startswith(f"observed-{i}-")}):
                raise ValueError("its weights are those of another number of models")
            parts = [persistence.under(tensors, f"{place}/") for place in _places(i, record.members)]
            base, models = ObservedBase(record.name), [OBSERVED[record.name].restored(own, n_features, n_labels) for own in parts]
        elif record.kind == "function":
            if not is_trained(custom):
                raise ModelFileError(
                    f"{folder} has a function for its base, {shown(record.name)}: pass base=, that function, to load."
                )
            base = TrainedBase(answer_of(custom), len(constants), varying)
            models = [base.answer]
        else:
            if custom is None:
                raise ModelFileError(
                    f"{folder} has a {record.name} for its base: pass base=, that classifier fitted, to load; where each label "
                    f"has a copy, the list of them (of the model that was saved, or its joint_: base_[{i}].models[0])."
                )
            base, models = _own(custom, n_labels, n_features), [custom]
        if n_terms is not None:
            base = ViewBase(base, str(record.view), n_terms)
        bases.append(CrossFitted(base, np.zeros((0, n_labels)), models, 0.0))
    if number != len(header.members):
        raise ValueError("its members are not those of its bases")
    return bases


def _own(custom: Any, n_labels: int, n_features: int) -> ClassifierBase:
    """Somebody's classifier, fitted: of label sets, or a list of one for each label that varies."""
    several = list(custom) if isinstance(custom, (list, tuple)) else [custom]
    fitted = [one for one in several if not isinstance(one, float)]  # a label of which a fold saw one value has its share
    try:
        for one in fitted:
            check_is_fitted(one)
    except (NotFittedError, TypeError):
        raise ModelFileError(f"base= must be fitted as it was when the model was saved; {shown(one)} is not.") from None
    for one in fitted:
        if getattr(one, "n_features_in_", n_features) != n_features:
            raise ModelFileError(f"base= was fitted on {one.n_features_in_} features, and the model on {n_features}.")
    if not isinstance(custom, (list, tuple)):
        if not takes_label_sets(custom):
            raise ModelFileError(f"base= must list a fitted {type(custom).__name__} for each of the {n_labels} labels that vary.")
        return ClassifierBase(custom)
    if len(several) != n_labels or not fitted:
        raise ModelFileError(f"base= lists {len(several)} classifiers, and {n_labels} labels vary: one for each, in their order.")
    return ClassifierBase(fitted[0], per_label=True)


def _n_members(one: CrossFitted) -> int:
    return 0 if one.base.refits else len(one.models)
