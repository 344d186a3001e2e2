"""``AutoMultiLabelClassifier``: fits the candidates a time budget allows, and answers with what did best on validation rows.

    members      each method with seeds 0, 1, ..., in rounds (every method once before any twice), until the budget is spent;
                 energies with a third of the method's weight first, then with all of it, then with what did better
    candidates   the mean marginals of each method's members, of all networks together, and of these with the best linear model
    choice       the candidate whose best decision rule scores highest, cross-validated within the validation rows

The simplest baselines are among the candidates, so the choice falls on them where an energy does not pay. Few candidates are
compared, each by rules fitted on one half of the validation rows and scored on the other, so that the choice itself overfits
little. What else was tried: docs/auto.md.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from enstruct.data.rows import Rows, as_indicator
from enstruct.data.splits import holdout
from enstruct.decisions.choose import RULES, cross_validate, fit_rule, make_rule
from enstruct.decisions.thresholds import top_k as most_probable
from enstruct.errors import ConfigError, DataError, ModelFileError, unknown_name
from enstruct.estimators import persistence
from enstruct.estimators.label_format import LabelFormat
from enstruct.estimators.members import CHOSEN_HERE, WEIGHTS, Budget, Member, default_methods, pace
from enstruct.estimators.multilabel import EnergyMultiLabelClassifier
from enstruct.estimators.preparation import merge_duplicates
from enstruct.files import replace_folder
from enstruct.methods import METHODS, get_method
from enstruct.metrics import get_metric
from enstruct.training.callbacks import Callback

log = logging.getLogger("enstruct")

EVERYTHING, NETWORKS = "everything", "networks"
AVERAGEABLE = tuple(name for name in RULES if name != "bayes-risk")
"""Rules that need marginals only: minimum Bayes risk needs the samples of one energy."""


class AutoMultiLabelClassifier(ClassifierMixin, BaseEstimator):
    """Chooses methods, and averages nets, within a budget; never a model its own baselines beat on validation rows.

    Parameters
    ----------
    methods : sequence of str, default=None
        Names of ``enstruct.METHODS``, the cheapest first. Those fitted by a solver have one member, the others up to ``members``.
        None: "binary-relevance" (on CSR rows of counts "binary-relevance-tfidf"), "cross-entropy", "seal-nce".
    members : int, default=3
        Seeds of each method at most.
    minutes : float, default=10
        Wall-clock budget. In the first round each method has its part of what is left: training of a network stops at the end of
        an epoch once that is spent (solvers are never stopped); later rounds start only what is likely to end in time.
    metric : str, default="example-f1"
        What candidates and decision rules are chosen by: a key of ``enstruct.metrics.METRICS``.
    settings : dict, default=None
        Further parameters for every member, as {"hidden": 200, "max_iter": 50}. By default batches grow with the rows,
        to 128, and the learning rate with the batch's square root.
    validation_fraction : float, default=0.2
        Part of the rows held out when ``fit`` gets no validation rows. All members share it.
    random_state : int, default=None
        Of the held-out part; member k of a method has the seed ``random_state`` + k.
    callbacks : callable(title) -> list of callbacks, default=None
        Asked before every fit; the command line shows progress by it.

    Attributes
    ----------
    members_ : list of (name, EnergyMultiLabelClassifier)
        They have no decision rules of their own but that at 0.5.
    methods_ : tuple of str
        The methods tried.
    groups_ : dict
        Candidate -> which of ``members_`` it averages; of a loaded model the chosen one alone, as the others are not kept.
    candidates_ : dict
        Candidate -> cross-validated score of each rule on the validation rows.
    chosen_ : str
        The candidate that answers: a method's name, "networks" or "everything".
    decision_, decision_scores_, rules_
        As in :class:`~enstruct.EnergyMultiLabelClassifier`, of the chosen candidate.
    classes_ : ndarray of (labels,)
    """

    def __init__(
        self,
        methods: Sequence[str] | None = None,
        *,
        members: int = 3,
        minutes: float = 10.0,
        metric: str = "example-f1",
        settings: dict[str, Any] | None = None,
        validation_fraction: float = 0.2,
        random_state: Any = None,
        callbacks: Callable[[str], list[Callback]] | None = None,
    ) -> None:
        self.methods = methods
        self.members = members
        self.minutes = minutes
        self.metric = metric
        self.settings = settings
        self.validation_fraction = validation_fraction
        self.random_state = random_state
        self.callbacks = callbacks

    def fit(self, X: Any, y: Any, X_val: Any = None, Y_val: Any = None) -> Self:
        """Fit members until the budget is spent, and choose. Raises DataError, ConfigError, DivergenceError."""
        self._check()
        if (X_val is None) != (Y_val is None):
            raise ConfigError("Pass both X_val and Y_val, or neither.")
        self.labels_ = LabelFormat.infer(y)
        if self.labels_.kind == "single":
            raise ConfigError("One label a row is decided by argmax: use EnergyMultiLabelClassifier.")
        self._deadline = time.monotonic() + 60 * self.minutes
        whole = isinstance(self.random_state, (int, np.integer))
        seed = int(self.random_state) if whole else int(check_random_state(self.random_state).randint(2**31 - 1))
        train = Rows(self._validated(X, reset=True), self.labels_.encode(y))
        if train.X.shape[0] != len(train):
            raise DataError(f"X has {train.X.shape[0]} rows, y has {len(train)}.")
        if X_val is None:
            train, held = self._hold_out(merge_duplicates(train), seed)  # no copy of a training row is a validation row
        else:
            held = Rows(self._validated(X_val, reset=False), self.labels_.encode(Y_val))
        self.methods_ = tuple(self.methods) if self.methods is not None else default_methods(train.X)
        self._fit_members(train, held, seed)
        self._choose(held.Y)
        return self

    def _hold_out(self, rows: Rows, seed: int) -> tuple[Rows, Rows]:
        train, held = holdout(rows.Y, self.validation_fraction, seed)
        if not len(train) or not len(held):
            raise DataError(f"{len(rows)} distinct rows are too few to hold out {self.validation_fraction:.0%} of them.")
        return rows.take(train), rows.take(held)

    def _validated(self, X: Any, reset: bool) -> Any:
        """X as float rows, dense or CSR; every objection of scikit-learn's becomes a DataError."""
        try:
            return validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=reset)
        except ValueError as error:
            raise DataError(str(error)) from error

    def _check(self) -> None:
        get_metric(self.metric)
        if self.methods is not None:
            for name in self.methods:
                get_method(name, METHODS)
            if not len(self.methods) or len(set(self.methods)) < len(self.methods):
                raise ConfigError("methods= must be distinct names, one at least.")
        if not (self.members >= 1 and self.minutes > 0):
            raise ConfigError(f"members must be at least 1 and minutes positive, not {self.members} and {self.minutes}.")
        if not 0 < self.validation_fraction < 1:
            raise ConfigError(f"validation_fraction must lie between 0 and 1, not {self.validation_fraction}.")
        known = set(EnergyMultiLabelClassifier().get_params()) - CHOSEN_HERE
        for name in self.settings or {}:
            if name not in known:
                raise unknown_name("setting of members", name, known)

    def _fit_members(self, train: Rows, held: Rows, seed: int) -> None:
        self.members_: list[tuple[str, EnergyMultiLabelClassifier]] = []
        self._validation: list[NDArray[np.float64]] = []
        took: dict[str, float] = {}
        for number in range(self.members):
            for position, name in enumerate(self.methods_):
                if number and (METHODS[name].solver is not None or time.monotonic() + took[name] > self._deadline):
                    continue
                begin = time.monotonic()
                waiting = len(self.methods_) - position if number == 0 else 1
                share = begin + max(0.0, self._deadline - begin) / waiting  # in the first round everyone has its part
                weight = self._energy_weight(name, held.Y)
                model = self._member(name, seed + number, share, pace(len(train)) | weight)
                model.fit(train.X, train.Y, train.weight, X_val=held.X, Y_val=held.Y)
                took[name] = max(took.get(name, 0.0), time.monotonic() - begin)
                self.members_.append((name, model))
                self._validation.append(model.predict_proba(held.X))
                log.info("member %s %d: %.1f s", name, number, took[name])
        self.n_iter_ = sum(model.n_iter_ for _, model in self.members_)
        players = ("predictor", "energy")
        self.updates_ = {player: sum(model.updates_[player] for _, model in self.members_) for player in players}

    def _energy_weight(self, name: str, Y_val: sparse.csr_matrix) -> dict[str, float]:
        """The setting of the next member of an energy method; its best depends on the data, and an average holds several well."""
        weight = METHODS[name].predictor_loss.energy_weight
        if not weight or "energy_weight" in (self.settings or {}):
            return {}
        tried = [i for i, (other, _) in enumerate(self.members_) if other == name]
        if len(tried) < len(WEIGHTS):
            return {"energy_weight": weight * WEIGHTS[len(tried)]}
        best = max(tried[: len(WEIGHTS)], key=lambda i: self._score(i, Y_val))
        return {"energy_weight": float(self.members_[best][1].energy_weight)}

    def _score(self, member: int, Y_val: sparse.csr_matrix) -> float:
        """Of one member alone on the validation rows, by its best rule."""
        return max(cross_validate(AVERAGEABLE, self._validation[member], as_indicator(Y_val), self.metric).scores.values())

    def _member(self, name: str, seed: int, deadline: float, defaults: dict[str, Any]) -> EnergyMultiLabelClassifier:
        shown = self.callbacks(f"{name} seed {seed}") if self.callbacks is not None else []
        budget = Budget(deadline)
        given = {"metric": self.metric, **defaults, **(self.settings or {}), "method": name, "random_state": seed}
        return Member(**given, callbacks=[budget, *shown])

    def _groups(self, Y: sparse.csr_matrix) -> dict[str, list[int]]:
        """Candidate -> its members."""
        names = [name for name, _ in self.members_]
        groups = {method: [i for i, name in enumerate(names) if name == method] for method in self.methods_}
        networks = [i for i, name in enumerate(names) if METHODS[name].solver is None]
        if len({names[i] for i in networks}) > 1:
            groups[NETWORKS] = networks
        if networks and len(networks) < len(names):
            groups[EVERYTHING] = [*networks, self._best_linear(Y)]
        return groups

    def _mean(self, parts: Sequence[NDArray[np.float64]], members: list[int]) -> NDArray[np.float64]:
        """Mean marginals, each method with the same weight however many members it has."""
        by_method: dict[str, list[NDArray[np.float64]]] = {}
        for i, part in zip(members, parts, strict=True):
            by_method.setdefault(self.members_[i][0], []).append(part)
        return np.asarray(np.mean([np.mean(same, axis=0) for same in by_method.values()], axis=0))

    def _best_linear(self, Y: sparse.csr_matrix) -> int:
        """Of the members with a solver the one that scores best alone: they are so alike that averages have one of them."""
        linear = [i for i, (name, _) in enumerate(self.members_) if METHODS[name].solver is not None]
        return linear[0] if len(linear) == 1 else max(linear, key=lambda i: self._score(i, Y))

    def _choose(self, Y_val: sparse.csr_matrix) -> None:
        Y = as_indicator(Y_val)
        compared, marginals = {}, {}
        self.groups_ = self._groups(Y)
        for name, members in self.groups_.items():
            marginals[name] = self._mean([self._validation[i] for i in members], members)
            compared[name] = cross_validate(AVERAGEABLE, marginals[name], Y, self.metric)
        self.candidates_ = {name: found.scores for name, found in compared.items()}
        self.chosen_ = max(compared, key=lambda name: max(compared[name].scores.values()))
        p = marginals[self.chosen_]
        self.rules_ = {name: fit_rule(make_rule(name), p, Y, self.metric, None) for name in AVERAGEABLE}
        self.decision_, self.decision_scores_ = compared[self.chosen_].best(), compared[self.chosen_].scores
        self.classes_ = self.labels_.classes
        del self._validation

    # -- answers ----------------------------------------------------------------------------------

    def predict_proba(self, X: Any, *, candidate: str | None = None) -> NDArray[np.float64]:
        """Mean marginals (rows, labels) of the chosen candidate, or of another of ``groups_``."""
        check_is_fitted(self, "chosen_")
        X = self._validated(X, reset=False)
        if candidate is not None and candidate not in self.groups_:
            raise unknown_name("candidate", candidate, self.groups_)
        members = self.groups_[candidate or self.chosen_]
        return self._mean([self.members_[i][1].predict_proba(X) for i in members], members)

    def predict(self, X: Any, *, decision: str | None = None, top_k: int | None = None) -> Any:
        """Label sets in the form Y had in ``fit``; ``decision`` names another fitted rule, ``top_k`` takes the k most probable.

        ConfigError for a rule that is not known, or no label at all.
        """
        p, rule = self.predict_proba(X), decision or self.decision_
        if top_k is not None:
            if top_k < 1:
                raise ConfigError(f"top_k must be at least 1, not {top_k}.")
            return self._decoded(most_probable(p, top_k))
        if rule not in self.rules_:
            raise unknown_name("decision rule", rule, self.rules_)
        return self._decoded(self.rules_[rule].predict(p))

    def _decoded(self, chosen: sparse.csr_matrix) -> Any:
        hierarchy = self.members_[0][1].hierarchy
        return self.labels_.decode(chosen if hierarchy is None else hierarchy.close(chosen))

    def score(self, X: Any, y: Any) -> float:
        """``metric`` of :meth:`predict`."""
        return get_metric(self.metric)(self.labels_.encode(y), self.labels_.encode(self.predict(X)))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_label = True
        return tags

    # -- saving -----------------------------------------------------------------------------------

    def save(self, path: Path | str, notes: dict[str, Any] | None = None) -> None:
        """A folder with auto.json and the model folders of the chosen members; whole or not at all."""
        check_is_fitted(self, "chosen_")
        path = Path(path)
        if path.exists() and not (path / "auto.json").is_file():
            raise ModelFileError(f"{path} exists and is not such a model; choose another place.")
        kept = [self.members_[i] for i in self.groups_[self.chosen_]]
        header = {
            "format": persistence.FORMAT,
            "estimator": type(self).__name__,
            "parameters": {
                "methods": None if self.methods is None else list(self.methods),
                "members": self.members,
                "minutes": self.minutes,
                "metric": self.metric,
                "validation_fraction": self.validation_fraction,
            },
            "labels": self.labels_.to_json(),
            "input": {"n_features": self.n_features_in_, "names": list(getattr(self, "feature_names_in_", []))},
            "methods": list(self.methods_),
            "members": [name for name, _ in kept],
            "chosen": self.chosen_,
            "candidates": self.candidates_,
            "decision": self.decision_,
            "rules": {name: persistence.encode_rule(rule) for name, rule in self.rules_.items()},
            "updates": self.updates_,
            "epochs": self.n_iter_,
            "notes": notes if notes is not None else getattr(self, "notes_", {}),
        }

        def fill(folder: Path) -> None:
            (folder / "auto.json").write_text(persistence.to_json(header), encoding="utf-8")
            for i, (_, model) in enumerate(kept):
                model.save(folder / f"member-{i}")

        replace_folder(path, fill)

    @classmethod
    def load(cls, path: Path | str) -> Self:
        """A saved model, with the members that answer. Raises ModelFileError."""
        path = Path(path)
        try:
            header = json.loads((path / "auto.json").read_text(encoding="utf-8"))
            if header["format"] > persistence.FORMAT or header["estimator"] != cls.__name__:
                raise ModelFileError(
                    f"{path} holds a {header['estimator']} of format {header['format']}; this reads a {cls.__name__} up to "
                    f"format {persistence.FORMAT}."
                )
            model = cls(**header["parameters"])
            models = [Member.load(path / f"member-{i}") for i in range(len(header["members"]))]
            model.members_ = list(zip(header["members"], models, strict=True))
            model.labels_ = LabelFormat.from_json(header["labels"])
            model.methods_ = tuple(header.get("methods") or header["parameters"]["methods"])
            model.groups_ = {header["chosen"]: list(range(len(models)))}
            model.n_features_in_ = header["input"]["n_features"]
            if header["input"]["names"]:
                model.feature_names_in_ = np.array(header["input"]["names"], dtype=object)
            model.chosen_, model.candidates_ = header["chosen"], header["candidates"]
            model.decision_, model.decision_scores_ = header["decision"], header["candidates"][header["chosen"]]
            model.rules_ = {name: persistence.decode_rule(make_rule(name), held) for name, held in header["rules"].items()}
            model.updates_, model.n_iter_, model.notes_ = header["updates"], header["epochs"], header["notes"]
        except ModelFileError:
            raise
        except FileNotFoundError as error:
            raise ModelFileError(f"{path} is not such a model folder: {error.filename} is missing.") from error
        except (OSError, ValueError, KeyError, TypeError, IndexError) as error:
            raise ModelFileError(f"{path} is damaged ({error}).") from error
        model.classes_ = model.labels_.classes
        return model
