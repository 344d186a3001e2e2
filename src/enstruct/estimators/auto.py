"""``AutoMultiLabelClassifier``: fits the candidates a time budget allows, and answers with what did best on rows held out.

    members      in rounds, every method once in each, until the budget is spent; round k holds out fold k of the rows, so that
                 from the second round on an average of members has learnt from all of them; energies have a third of the
                 method's weight in the first round, all of it in the second, then what did better
    candidates   the mean marginals of each method's members, of all networks together, of these with the linear model, with the
                 trees, and with both
    choice       the candidate whose best decision rule scores highest on the folds held out: each row is judged by members that
                 were not trained on it, on folds that every method has left out once

The simplest baselines are among the candidates, so the choice falls on them where an energy does not pay. Few candidates are
compared, each by rules fitted on one half of the rows held out and scored on the other, so that the choice itself overfits
little. Rows that the caller holds out are the only fold, which nothing learns from. What else was tried: docs/auto.md.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from enstruct.decisions.choose import check_one_rule
from enstruct.decisions.thresholds import sets_of_size
from enstruct.errors import ConfigError
from enstruct.estimators import persistence, saved_values
from enstruct.estimators.base import seed_of
from enstruct.estimators.candidates import Candidates, HeldOut, mean_of_methods
from enstruct.estimators.features import validated
from enstruct.estimators.label_data import ConstantLabels
from enstruct.estimators.label_format import LabelFormat
from enstruct.estimators.label_rows import label_rows, merge_duplicates
from enstruct.estimators.label_rules import LabelRules
from enstruct.estimators.legality import by_number, system_of
from enstruct.estimators.members import TRAINED, WEIGHTS, Budget, Member, Part, check_automatic, default_methods, parts_of
from enstruct.estimators.network_classifier import NetworkClassifier, scaling_of
from enstruct.estimators.renamed import refuse_renamed
from enstruct.estimators.restore_on_failure import restore_on_failure
from enstruct.estimators.saved_header import OfAutomatic
from enstruct.estimators.texts import input_record, restore_input
from enstruct.estimators.told import truth_of
from enstruct.methods import METHODS, Method
from enstruct.metrics import get_metric
from enstruct.training.batches import row_blocks
from enstruct.training.callbacks import Callback
from enstruct.training.ranks import check_alone
from enstruct.validation import both_or_neither, check_whole, is_whole, one_of, optional

log = logging.getLogger("enstruct")

Decide = Callable[[list[NDArray[np.float64]]], list[sparse.csr_matrix]]
"""Candidates' marginals of some rows -> label sets, one or more."""
EXCEEDED = (
    "The budget of %g minutes was exceeded by %.1f: every method is fitted once and then the choice is made, however long that "
    "takes with so many rows and labels. methods= may leave out dear ones."
)


class AutoMultiLabelClassifier(ClassifierMixin, BaseEstimator):
    """Chooses methods, and averages nets, within a budget, by their scores on rows held out; its baselines are candidates too.

    Those scores are optimistic in two ways: the rows stop the training of the members judged on them, and the best of several
    candidates is taken. Without validation rows of the caller's a row is judged by the one member of each method that has not
    seen it, so that the gain of averaging members is not seen in the choice, and decision rules are fitted to single members.

    Parameters
    ----------
    methods : sequence of str, default=None
        Names of ``enstruct.METHODS``, the cheapest first. Those fitted by a solver have one member a fold, as a seed would change
        nothing. None: "binary-relevance" (on CSR rows of counts "binary-relevance-tfidf"), "extra-trees" (not on wide and long
        CSR rows), "cross-entropy", "seal-nce".
    members : int, default=3
        Of each method at most.
    minutes : float, default=10
        Wall-clock budget. In the first round each method has its part of what is left: training of a network stops at the end of
        an epoch once that is spent, solvers after their next try, perhaps untuned; later rounds start only what is likely to end
        in time. The choice comes after it. A log warning says where all took more than twice as long.
    metric : str, default="example-f1"
        What candidates and decision rules are chosen by: a key of ``enstruct.metrics.METRICS``.
    settings : dict, default=None
        Further parameters for every member, as {"hidden": 200, "max_epochs": 50}.
    folds : int, default=5
        Stratified parts of the rows, 2 or more: member k is not trained on part k (modulo ``folds``), which stops its training
        and judges it. Of no effect when ``fit`` gets validation rows.
    random_state : int, default=None
        Of the folds; member k of a method has the seed ``random_state`` + k.
    member_callbacks : callable(title) -> list of callbacks, default=None
        Asked before every fit; the command line shows progress by it.

    Attributes
    ----------
    members_ : list of (name, NetworkClassifier)
        They have no decision rules of their own but that at 0.5.
    methods_ : tuple of str
        The methods tried.
    groups_ : dict
        Candidate -> which of ``members_`` it averages; of a loaded model the chosen one alone, as the others are not kept.
    candidates_ : dict
        Candidate -> cross-validated score of each rule on the rows held out.
    candidate_rules_ : dict
        Candidate -> its best rule, fitted; of a loaded model the chosen one alone.
    chosen_ : str
        The candidate that answers: a method's name, "networks", "networks+..." with one model of another kind, or "everything".
    decision_, decision_scores_, rules_
        As in :class:`~enstruct.NetworkClassifier`, of the chosen candidate.
    judged_rows_ : int
        How many rows held out the choice was made on.
    classes_ : ndarray of (labels,)
    """

    @refuse_renamed
    def __init__(
        self,
        methods: Sequence[str] | None = None,
        *,
        members: int = 3,
        minutes: float = 10.0,
        metric: str = "example-f1",
        settings: dict[str, Any] | None = None,
        folds: int = 5,
        random_state: Any = None,
        member_callbacks: Callable[[str], list[Callback]] | None = None,
    ) -> None:
        self.methods = methods
        self.members = members
        self.minutes = minutes
        self.metric = metric
        self.settings = settings
        self.folds = folds
        self.random_state = random_state
        self.member_callbacks = member_callbacks

    @refuse_renamed
    @restore_on_failure
    def fit(self, X: Any, y: Any, sample_weight: Any = None, X_val: Any = None, y_val: Any = None) -> Self:
        """Fit members until the budget is spent, and choose. Raises DataError, ConfigError, DivergenceError.

        ``sample_weight`` (rows,) counts in training, and where members are judged.

        Without ``X_val`` each round learns from all rows but a fold and is judged on that (``folds``); with it all rows of X are
        learnt from, and those of ``X_val`` only judged on, by averages of all members.
        """
        check_automatic(self)
        check_alone("AutoMultiLabelClassifier", "fit a method of networks, or fit it outside")
        validates = both_or_neither(X_val=X_val, y_val=y_val)
        self.labels_ = LabelFormat.infer(y)
        self._deadline = time.monotonic() + 60 * self.minutes
        seed = int(self.random_state) if is_whole(self.random_state) else seed_of(self.random_state)
        rows = label_rows(validated(self, X, reset=True), y, sample_weight, self.labels_)
        if (system := system_of((self.settings or {}).get("rules"), self.labels_)) is not None:
            system.check_rows(rows.Y)
        ConstantLabels.find(rows.Y)  # warns once; members would each, of other labels on every fold
        if not validates:
            least = 1 if self._single else 2  # one half of a fold chooses rules for the other
            parts = parts_of(merge_duplicates(rows), self.folds, seed, least)  # no copy of a training row is in the fold held out
        else:
            validation = label_rows(validated(self, X_val, reset=False), y_val, None, self.labels_)
            parts = [lambda: (rows, validation)]
        self.methods_ = tuple(self.methods) if self.methods is not None else default_methods(rows.X)
        self._choose(self._fit_members(parts, seed, weighed=sample_weight is not None))
        over = (time.monotonic() - self._deadline) / 60
        if over > self.minutes:
            log.warning(EXCEEDED, self.minutes, over)
        return self

    @property
    def _single(self) -> bool:
        """Whether a row has one label, of several classes: argmax decides, whatever the rule."""
        return self.labels_.kind == "single"

    def _fit_members(self, parts: Sequence[Part], seed: int, weighed: bool) -> HeldOut:
        """``weighed``: whether rows held out count by their weights; those of merged copies alone do not."""
        self.members_: list[tuple[str, NetworkClassifier]] = []
        held_out = HeldOut(self.metric, self._single)
        took: dict[str, float] = {}
        for number in range(self.members):
            fold = number % len(parts)
            train, validation = parts[fold]()
            for position, name in enumerate(self.methods_):
                repeats = METHODS[name].solver is not None and number >= len(parts)
                if repeats or (number and time.monotonic() + took[name] > self._deadline):
                    continue
                begin = time.monotonic()
                waiting = len(self.methods_) - position if number == 0 else 1
                share = begin + max(0.0, self._deadline - begin) / waiting  # in the first round everyone has its part
                model = self._member(self._row(name, held_out), (seed + number) % 2**32, share)
                model.fit_as(self.labels_, train, validation)
                took[name] = max(took.get(name, 0.0), time.monotonic() - begin)
                self.members_.append((name, model))
                held_out.add(
                    name, fold, model.predict_proba(validation.X), validation if weighed else replace(validation, weight=None)
                )
                log.info("member %s %d: %.1f s", name, number, took[name])
        self.n_iter_ = sum(model.n_iter_ for _, model in self.members_)
        players = ("predictor", "energy")
        self.updates_ = {player: sum(model.updates_[player] for _, model in self.members_) for player in players}
        return held_out

    def _row(self, name: str, held_out: HeldOut) -> Method:
        """The method of its next member: an energy's best weight depends on the data, and an average holds several well."""
        method = METHODS[name]
        weight = method.predictor_loss.energy_weight
        if not weight or "method__energy_weight" in (self.settings or {}):
            return method
        tried = held_out.of(name)
        if len(tried) < len(WEIGHTS):
            return method.with_(energy_weight=weight * WEIGHTS[len(tried)])
        references = [other for other in self.methods_ if not METHODS[other].predictor_loss.energy_weight]
        best = held_out.best_of(tried[: len(WEIGHTS)], references)
        return method.with_(energy_weight=self.members_[best][1].method.predictor_loss.energy_weight)

    def _member(self, method: Method, seed: int, deadline: float) -> Member:
        title = f"{method.name} seed {seed}"
        shown = self.member_callbacks(title) if self.member_callbacks is not None else []
        member = Member(metric=self.metric, random_state=seed, callbacks=[Budget(deadline), *shown])
        rules = by_number((self.settings or {}).get("rules"), self.labels_)
        return member.set_params(**{**(self.settings or {}), "method": method, "rules": rules})

    def _choose(self, held_out: HeldOut) -> None:
        compared = Candidates(held_out, self.methods_)
        self.groups_, self.chosen_ = compared.groups, compared.best()
        self.candidates_ = {name: comparison.scores for name, comparison in compared.compared.items()}
        self.rules_ = compared.rules(self.chosen_, held_out.rules)
        best = {name: comparison.best() for name, comparison in compared.compared.items()}
        self.candidate_rules_ = {
            name: self.rules_[rule] if name == self.chosen_ else compared.rules(name, [rule])[rule] for name, rule in best.items()
        }
        self.decision_, self.decision_scores_ = compared.compared[self.chosen_].best(), self.candidates_[self.chosen_]
        self.classes_, self.judged_rows_ = self.labels_.classes, compared.Y.shape[0]

    # -- answers ----------------------------------------------------------------------------------

    def predict_proba(self, X: Any, *, candidate: str | None = None) -> NDArray[np.float64]:
        """Mean marginals (rows, labels) of the chosen candidate, or of another of ``groups_``."""
        name, X = self._known(candidate), validated(self, X, reset=False)
        out = np.empty((X.shape[0], self.labels_.n_labels))
        for block in row_blocks(*out.shape):
            out[block] = self._means(X[block], [name])[0]
        return out

    def _known(self, candidate: str | None) -> str:
        check_is_fitted(self, "chosen_")
        optional(one_of("candidate", self.groups_))("candidate", candidate)
        return self.chosen_ if candidate is None else candidate

    def _means(self, X: Any, candidates: Sequence[str]) -> list[NDArray[np.float64]]:
        """Mean marginals (rows, labels) of each candidate; every member answers once."""
        needed = sorted({i for name in candidates for i in self.groups_[name]})
        marginals = {i: self.members_[i][1].predict_proba(X) for i in needed}
        groups = [self.groups_[name] for name in candidates]
        return [mean_of_methods([self.members_[i][0] for i in group], [marginals[i] for i in group]) for group in groups]

    def _decided(self, X: Any, candidates: Sequence[str], decide: Decide) -> list[sparse.csr_matrix]:
        """Label sets (rows, labels) for each of what ``decide`` makes of the candidates' marginals, some rows at a time."""
        X = validated(self, X, reset=False)
        legality, parts = self.members_[0][1].legality_, []
        for block in row_blocks(X.shape[0], self.labels_.n_labels):
            means = self._means(X[block], candidates)
            chosen = decide(means)
            if legality is not None:  # each by the marginals that it was decided by
                by = means if len(means) > 1 else means * len(chosen)
                chosen = [legality.sets(one, p) for one, p in zip(chosen, by, strict=True)]
            parts.append(chosen)
        return [sparse.vstack(of_rows, format="csr") for of_rows in zip(*parts, strict=True)]

    def predict(self, X: Any, *, decision: str | None = None, top_k: int | None = None, candidate: str | None = None) -> Any:
        """Label sets in the form Y had in ``fit``; ``decision`` names another fitted rule, ``top_k`` takes the k most probable.

        ``candidate`` answers as that one of ``groups_`` would, by its own best rule. ConfigError for a rule or candidate that is
        not known, a rule of another candidate (they have but the best), or no label at all.
        """
        chosen = self._predicted(X, decision, top_k, candidate)
        return self.labels_.decode(chosen)

    def predict_by_rule(self, X: Any) -> dict[str, Any]:
        """Fitted rule -> label sets of the rows as :meth:`predict` gives them under it, from one answer of each member.

        All answers are held at once. Raises as ``predict`` does.
        """
        check_is_fitted(self, "chosen_")
        label_sets = self._decided(X, [self.chosen_], lambda means: [self._by(rule, means[0]) for rule in self.rules_.values()])
        return {name: self.labels_.decode(chosen) for name, chosen in zip(self.rules_, label_sets, strict=True)}

    def predict_by_candidate(self, X: Any) -> dict[str, Any]:
        """Candidate -> label sets of the rows as ``predict(X, candidate=)`` gives them, likewise."""
        check_is_fitted(self, "chosen_")
        rules = [self.candidate_rules_[name] for name in self.groups_]
        label_sets = self._decided(
            X, list(self.groups_), lambda means: [self._by(rule, p) for rule, p in zip(rules, means, strict=True)]
        )
        return {name: self.labels_.decode(chosen) for name, chosen in zip(self.groups_, label_sets, strict=True)}

    def _predicted(self, X: Any, decision: str | None, top_k: int | None, candidate: str | None) -> sparse.csr_matrix:
        name = self._known(candidate)
        check_one_rule(decision, top_k)
        if top_k is not None:
            check_whole(1, top_k=top_k)
            return self._decided(X, [name], lambda means: [sets_of_size(means[0], 1 if self._single else top_k)])[0]
        if name != self.chosen_ and decision is not None:
            raise ConfigError(f"decision= names a rule of {self.chosen_!r}, which answers; leave it out with candidate=.")
        optional(one_of("decision rule", self.rules_))("decision", decision)
        rule = (
            self.rules_[self.decision_ if decision is None else decision] if name == self.chosen_ else self.candidate_rules_[name]
        )
        return self._decided(X, [name], lambda means: [self._by(rule, means[0])])[0]

    def _by(self, rule: Any, p: NDArray[np.float64]) -> sparse.csr_matrix:
        """Label sets (rows, labels) of marginals."""
        return sets_of_size(p, 1) if self._single else rule.predict(p)

    def score(self, X: Any, y: Any) -> float:
        """``metric`` of :meth:`predict` (accuracy for 1-D y); where y has holes, of the labels that are known."""
        check_is_fitted(self, "chosen_")
        metric = get_metric("subset-accuracy" if self._single else self.metric)
        return metric(truth_of(y, self.labels_), self._predicted(X, None, None, None))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        settings = self.settings if isinstance(self.settings, Mapping) else {}
        named = self.methods if isinstance(self.methods, (list, tuple)) else ()
        counts = [str(scaling_of(settings.get("standardize", "auto"), name)) == "tfidf" for name in named or TRAINED]
        tags.input_tags.positive_only = any(counts)
        tags.classifier_tags.poor_score = all(counts)
        tags.classifier_tags.multi_label = True
        return tags

    # -- saving -----------------------------------------------------------------------------------

    def save(self, path: Path | str, notes: dict[str, Any] | None = None) -> None:
        """A folder with auto.json and the model folders of the chosen members; whole or not at all."""
        check_is_fitted(self, "chosen_")
        kept = [self.members_[i] for i in self.groups_[self.chosen_]]
        header = {
            "format": persistence.FORMAT,
            "estimator": type(self).__name__,
            "parameters": {
                k: saved_values.encode_parameter(k, v) for k, v in self.get_params(deep=False).items() if k != "member_callbacks"
            },
            "labels": self.labels_.record(),
            "input": input_record(self),
            "methods": list(self.methods_),
            "members": [name for name, _ in kept],
            "chosen": self.chosen_,
            "judged_rows": self.judged_rows_,
            "candidates": self.candidates_,
            "decision": self.decision_,
            "rules": LabelRules(self.rules_).record(),
            "updates": self.updates_,
            "epochs": self.n_iter_,
            "notes": notes if notes is not None else getattr(self, "notes_", {}),
        }

        def fill(folder: Path) -> None:
            (folder / persistence.AUTOMATIC).write_text(persistence.to_json(header), encoding="utf-8")
            for i, (_, model) in enumerate(kept):
                model.save(folder / f"member-{i}")

        persistence.put_folder(Path(path), fill, type(self).__name__)

    @classmethod
    def load(cls, path: Path | str) -> Self:
        """A saved model, with its parameters but ``member_callbacks``, and the members that answer. Raises ModelFileError."""
        return persistence.steadily(path, cls._loaded)

    @classmethod
    def _loaded(cls, folder: Path) -> Self:
        header, parameters = persistence.header_of(cls, OfAutomatic, folder, persistence.AUTOMATIC)
        with persistence.fitting_parts(folder):
            model = cls(**parameters)
            check_automatic(model)
            model._restore(header, [Member.load(folder / f"member-{i}") for i in range(len(header.members))])
        return model

    def _restore(self, header: OfAutomatic, models: list[Member]) -> None:
        """The attributes of a fitted estimator from a checked header; any error for what does not fit together."""
        self.members_ = list(zip(header.members, models, strict=True))
        self.labels_, self.methods_ = LabelFormat.from_record(header.labels), tuple(header.methods)
        restore_input(self, header.input)
        self.classes_, names = self.labels_.classes, header.input.names
        sizes = {(len(names) or self.n_features_in_, self.n_features_in_, self.labels_.n_labels)}
        sizes |= {(model.n_features_in_, model.n_features_in_, model.data_.labels.n_labels) for model in models}
        if len(sizes) > 1:
            raise ValueError("its members have other features or labels than it has itself")
        self.chosen_, self.candidates_ = header.chosen, header.candidates
        self.groups_ = {self.chosen_: list(range(len(models)))}
        self.decision_, self.decision_scores_ = header.decision, self.candidates_[self.chosen_]
        self.rules_ = LabelRules.from_record(header.rules, self.decision_, self.decision_scores_, self.labels_.n_labels).rules
        self.candidate_rules_ = {self.chosen_: self.rules_[self.decision_]}
        self.judged_rows_ = header.judged_rows
        self.updates_, self.n_iter_, self.notes_ = header.updates, header.epochs, header.notes
