"""``JointMultiLabelClassifier``: a distribution over label sets on top of any marginal model."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit, xlogy
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from enstruct.data.rows import Rows, as_indicator
from enstruct.decisions.choose import check_one_rule
from enstruct.decisions.expected_f1 import ExpectedF1
from enstruct.decisions.risk import RISKS, Gain, decision_among, least_risk
from enstruct.decisions.thresholds import sets_of_size
from enstruct.encoders.text import TextEncoder
from enstruct.energies.residual import ResidualEnergy
from enstruct.errors import ConfigError, DataError, shown
from enstruct.estimators.base import seed_of
from enstruct.estimators.bases import CLIP, Base, as_base, automatic, logits_of
from enstruct.estimators.classifier_base import ClassifierBase
from enstruct.estimators.conditionals import BY_DEFAULT, Conditionals, Sampling
from enstruct.estimators.cross_fitting import CrossFitted, best_score, choose, cross_fit
from enstruct.estimators.features import validated, validated_blocks
from enstruct.estimators.fitted_on import FittedOn
from enstruct.estimators.label_rows import row_weights
from enstruct.estimators.label_rules import LabelRules
from enstruct.estimators.label_texts import of_labels
from enstruct.estimators.left_out import PARTS, left_out
from enstruct.estimators.legality import Legality, system_of
from enstruct.estimators.parameters import JOINT, check_parameters
from enstruct.estimators.restore_on_failure import restore_on_failure
from enstruct.estimators.saved_joint import SavedJoint
from enstruct.estimators.told import check_observed, constants_of, told_format, told_labels, truth_of
from enstruct.estimators.trained_base import TrainedBase
from enstruct.estimators.training_table import Table
from enstruct.joint import Joint
from enstruct.joint.classes import Classes, follow_classes
from enstruct.metrics import get_metric, log_loss
from enstruct.rules.closest import nearest
from enstruct.rules.follow import are_possible
from enstruct.rules.marginals import raised
from enstruct.training.ranks import check_alone
from enstruct.training.residual import PATIENCE
from enstruct.training.residual_candidates import CANDIDATES, CLASSES, Candidate, Examples
from enstruct.training.residual_choice import Fitted, fit_residual
from enstruct.validation import check_whole, optional, whole

EXACT = "subset-accuracy"
SAMPLES = 200
"""Label sets a row that decisions of least risk are taken on."""
CERTAIN = 30.0
"""Log-odds of labels that never varied."""
JUDGED, FILLED, ROWS_JUDGED = 2**18, 2**20, 2000
"""Cells of the rows that marginals are compared by and, of labels with holes, rules are fitted to, at most: both are sampled. And
the rows of the former at most, which show whose log-loss is lower."""
LEAST_SECONDS = 30.0
"""Within which terms of the energy are begun, however few ``minutes`` are."""
MOST_CELLS = 2**30
"""Rows by labels of ``fit`` at most: it holds several tables of them, of 4 GiB each here."""
CELLS = 2**24
"""Numbers that the samples of a block of rows may take."""


def _entropy(p: NDArray[Any]) -> NDArray[Any]:
    """In nats, of labels that are there with probability p."""
    return np.asarray(-(xlogy(p, p) + xlogy(1 - p, 1 - p)))


class JointMultiLabelClassifier(ClassifierMixin, SavedJoint):
    """Marginals of any model, cross-fitted, and on top of them an energy that knows how labels hang together.

        p(y | x) = exp(-E(x, y)) / Z(x),     E as in :mod:`enstruct.energies.residual`

    The base answers where nothing else is known; the energy answers what a base cannot: what the other labels are once some are
    told (``known=``), which whole sets are likely (:meth:`sample`, :meth:`log_prob`), which label to ask for next (:meth:`ask`).

    Parameters
    ----------
    base : "auto", str, Method, classifier or function, default="auto"
        What gives the marginals: a method of ``enstruct.METHODS``; a classifier of scikit-learn's with ``predict_proba``, for
        label sets or for one label, of which each label gets a copy; a model that is trained already, on other rows than these,
        as a function of X that gives probabilities (rows, labels), or as scikit-learn's FrozenEstimator; "auto": linear model,
        trees, boosted trees and network as far as ``minutes`` go, averaged where that scores better.
    encoder : TextEncoder, optional
        What reads texts (:class:`enstruct.TextEncoder`); without it they go by tf-idf. Of a frozen one "auto" reads both side by
        side. Of one that is tuned each fold's network has its own parts or copy, and support vector machines on terms beside it.
    metric : str, default="example-f1"
        What decision rules, and the bases of "auto", are chosen for: a key of ``enstruct.metrics.METRICS``.
    decision : str, default="auto"
        "fixed" (0.5), "threshold", "scaled", "per-label", "top-k", "expected-f1", of marginals; "subset-accuracy" (the likeliest
        whole set), "example-f1", "hamming", "jaccard", of least expected risk under the joint; or "auto", the best of the former
        in cross-validation, where the metric is "subset-accuracy" also the likeliest whole set.
    folds : int, default=5
        Parts of the rows, each left out once; fewer where there are not two distinct rows for each. 1: a fifth alone is left out,
        by which all else is learnt, for bases that take long, as encoders that are tuned.
    rules : a rule of :mod:`enstruct.rules`, or a list of them, optional
        No answer breaks one that binds, what is told tells what follows, and the energy is a distribution over the label sets
        that keep them. Exact where labels are few, or few sets of those that rules tie together are legal; else by chains that
        move among legal sets.
    minutes : float, default=3
        Of "auto": after the first base no other is begun that would likely end later; what the first one takes, the others have
        a third of the minutes. Of the energy as many again, half a minute at least: then no further terms are tried for it, nor
        chains.
    n_iter_no_change : int or "auto"
        Of the energy: epochs without a better held-out value after which its training ends; "auto": 10.
    random_state : int, RandomState or None

    Attributes
    ----------
    classes_ : ndarray of (labels,)
    base_ : list of CrossFitted, whose mean answers; ``base_scores_``: what each average that was tried scored.
    energy_ : ResidualEnergy
    likelihoods_ : dict, terms of the energy -> held-out -log p(y | x) in nats a row, rough of what is clearly behind; ``terms_``:
        those chosen, of level ones what answers quickest. ", stacked" after them: with other labels' logits counting in; ",
        persistent": trained by chains as well. Empty where large rules left no time to compare any: labels are independent then
        but for the rules.
    rules_, decision_, decision_scores_ : as in :class:`~enstruct.EnergyMultiLabelClassifier`
    marginals_of_ : "base" or "joint": whose are the probabilities while nothing is told, as their held-out log-loss says;
        rules decide by the base's then
    """

    _candidates: Sequence[Candidate] = CANDIDATES
    _reads_both = True  # terms of texts and an encoder's features

    def __init__(
        self,
        base: Any = "auto",
        *,
        encoder: TextEncoder | None = None,
        metric: str = "example-f1",
        decision: str = "auto",
        folds: int = 5,
        minutes: float = 3.0,
        n_iter_no_change: int | str = "auto",
        rules: Any = None,
        random_state: Any = None,
    ) -> None:
        self.base = base
        self.encoder = encoder
        self.metric = metric
        self.decision = decision
        self.folds = folds
        self.minutes = minutes
        self.n_iter_no_change = n_iter_no_change
        self.rules = rules
        self.random_state = random_state

    # -- fitting ----------------------------------------------------------------------------------

    @restore_on_failure
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Cross-fit the base, train the energy on logits that no row's labels have gone into, fit decision rules.

        y : as for :class:`~enstruct.EnergyMultiLabelClassifier`, or with holes (NaN, None, -1) where a label is unknown, or one
            dict a row.
        DataError for unusable data, ConfigError for unknown settings.
        """
        check_parameters(self, JOINT)
        check_alone("method='joint'", "name a method of networks, as method='seal-nce', or fit it outside")
        if self.encoder is not None:
            self.encoder.check_reads_no_labels("a joint")
        X = validated(self, X, reset=True)
        self.labels_ = told_format(y)
        if self._single and self.decision not in ("auto", "fixed"):
            raise ConfigError(f"decision={self.decision!r} cannot be used: one label a row is decided by argmax.")
        self.classes_ = self.labels_.classes
        if X.shape[0] * self.labels_.n_labels > MOST_CELLS:
            raise ConfigError(
                f"A joint keeps tables of rows by labels, and {X.shape[0]} x {self.labels_.n_labels} would fill the memory: name "
                "one that trains batch by batch, as method='cross-entropy', or fit fewer rows."
            )
        Y = told_labels(y, self.labels_, "y")
        if len(Y) != X.shape[0]:
            raise DataError(f"X has {X.shape[0]} rows and y {len(Y)}.")
        check_observed(Y, self.labels_)
        system = system_of(self.rules, self.labels_)
        if system is not None:
            system.check_rows(Y)
        weight = None if sample_weight is None else row_weights(sample_weight, X)
        whole, group = Table(X, Y, weight).merged()
        self.constants_ = constants_of(whole.Y)
        self.varying_ = np.flatnonzero(np.isnan(self.constants_))
        self.legality_ = Legality.of(system, self.constants_)
        table = Table(whole.X, whole.Y[:, self.varying_], whole.weight)
        seed = seed_of(self.random_state)
        folds = left_out(table, self.folds, seed)
        self._fit_base(table, folds, seed)
        logits = self._logits(np.mean([fitted.marginals for fitted in self.base_], axis=0))
        if self.folds == 1:  # the base has learnt from all others: its answers there would say that it is always right
            (unseen,) = folds
            place = np.full(len(table) + 1, -1)  # the last one is that of rows of no weight
            place[unseen] = np.arange(len(unseen))
            logits, table, group = logits[unseen], table.take(unseen), place[group]
            folds = left_out(table, PARTS, seed)
        fitted = self._fit_energy(logits, table, folds, seed)
        self.fitted_on_ = FittedOn(logits, table, group, folds, fitted.chosen, fitted.epochs, self.folds != 1)
        self.seed_ = seed
        return self

    def _fit_base(self, table: Table, folds: Sequence[NDArray[np.intp]], seed: int) -> None:
        allowed = 60 * self.minutes
        deadline = time.monotonic() + allowed
        wanted: list[Base] = (
            automatic(table, self.metric, self.encoder, getattr(getattr(self, "text_", None), "n_terms", None))
            if isinstance(self.base, str) and self.base == "auto"
            else [self._as_base(table)]
        )
        fitted: list[CrossFitted] = []
        for base in wanted:
            if not fitted:  # the first is never left out, and of many labels it may take all of the time
                fitted.append(cross_fit(base, table, folds, seed, deadline, last=True))
                deadline = max(deadline, time.monotonic() + allowed / 3)
            elif time.monotonic() <= deadline:
                one = cross_fit(base, table, folds, seed, deadline, last=False)
                fitted += [] if one is None else [one]
        unseen = np.sort(np.concatenate(folds))
        judged = table.take(unseen)
        chosen, self.base_scores_ = choose(fitted, lambda p: best_score(p[unseen], judged, self.metric))
        self.base_ = [fitted[i] for i in chosen]

    def _as_base(self, table: Table) -> Base:
        named = of_labels(self.base, self.classes_[self.varying_])
        base = as_base(named, self.metric, table.complete, self.encoder, self.labels_.n_labels, self.varying_)
        if self.folds == 1 and isinstance(base, TrainedBase):
            raise ConfigError("folds=1 is for bases that take long to fit, and this one is trained already: leave it out.")
        return base

    def _fit_energy(self, logits: NDArray[np.float32], table: Table, folds: Sequence[NDArray[np.intp]], seed: int) -> Fitted:
        if self._single:
            return self._fit_classes(logits, table, seed)
        rules_of_energy = None if self.legality_ is None else self.legality_.varying
        patience = PATIENCE if self.n_iter_no_change == "auto" else int(self.n_iter_no_change)
        seconds = max(60 * self.minutes, LEAST_SECONDS)
        ends = time.monotonic() + seconds
        fitted = fit_residual(
            logits,
            table.Y,
            table.weight,
            folds[0],
            seed,
            self._candidates,
            lambda: time.monotonic() > ends,
            patience,
            rules_of_energy,
            seconds,
        )
        self.energy_, self.terms_, self.likelihoods_ = fitted.energy, fitted.chosen.name, fitted.likelihoods
        unseen = table.few(folds[0], min(JUDGED, ROWS_JUDGED * table.Y.shape[1]))
        p, judge = self._legal(expit(logits)), self._joint(logits[unseen], seed, fitted.judge)
        self.marginals_of_ = "base"
        if fitted.likelihoods:  # else its rules leave no time for its own
            y, weight = table.Y[unseen], None if table.weight is None else table.weight[unseen]
            better = log_loss(y, judge.marginals().numpy(), weight) < log_loss(y, p[unseen], weight)
            self.marginals_of_ = "joint" if better else "base"
        # rules are about whole sets: holes are filled with a draw, given what was observed
        whole, ruled = table.Y, np.arange(len(table))
        if not table.complete:
            if rules_of_energy is not None:
                ruled = ruled[are_possible(rules_of_energy, table.Y)]
            ruled = table.few(ruled, FILLED)
            whole = self._joint(logits[ruled], seed).apart().sample(1, torch.from_numpy(table.Y[ruled]))[:, 0].numpy()
        rows = Rows(table.X[ruled], as_indicator(whole), None if table.weight is None else table.weight[ruled])
        rules = LabelRules.fit(p[ruled], rows, self.metric, "auto" if self.decision in RISKS else self.decision, None)
        self.rules_, self.decision_, self.decision_scores_ = rules.rules, rules.decision, rules.scores
        if self.decision in RISKS:
            self.decision_ = self.decision
        elif (self.decision, self.metric) == ("auto", EXACT) and fitted.likelihoods:
            self._choose_likeliest(judge, p, table, unseen)
        return fitted

    def _fit_classes(self, logits: NDArray[np.float32], table: Table, seed: int) -> Fitted:
        """Where a row has one label the base's probabilities, which sum to one, are the distribution, and nothing is learnt."""
        weight = np.ones(len(table)) if table.weight is None else table.weight
        z, y, w = (torch.as_tensor(part, dtype=torch.float32) for part in (logits, table.Y, weight))
        self.energy_, self.terms_ = CLASSES.energy(Examples(z, y, w), seed).eval(), CLASSES.name
        self.likelihoods_ = {CLASSES.name: float(np.average(-(logits * table.Y).sum(1), weights=weight))}
        self.marginals_of_, rules = "base", LabelRules()
        self.rules_, self.decision_, self.decision_scores_ = rules.rules, rules.decision, rules.scores
        return Fitted(self.energy_, self.energy_, CLASSES, self.likelihoods_, 0)

    def _choose_likeliest(self, judge: Joint, p: NDArray[Any], table: Table, rows: NDArray[np.intp]) -> None:
        """Put the most probable set in force where more of these rows, which ``judge`` has not seen, are right by it than by the
        rule chosen, which has. Whole sets alone are right or wrong: rows with holes are not asked."""
        whole = ~np.isnan(table.Y[rows]).any(1)
        if not whole.any():
            return
        rows, parts = rows[whole], []
        for some in torch.from_numpy(np.flatnonzero(whole)).split(max(1, CELLS // (SAMPLES * table.Y.shape[1]))):
            few = judge.take(some)
            samples = few.sample(SAMPLES)
            parts.append(least_risk(samples.numpy().astype(np.uint8), "subset", few.log_density(samples).numpy()))
        by_rule = self.rules_[self.decision_].predict(p[rows])
        if self.legality_ is not None:
            by_rule = as_indicator(nearest(self.legality_.varying, by_rule.toarray(), p[rows]))
        weight = None if table.weight is None else table.weight[rows]
        score, truth = get_metric(EXACT), as_indicator(table.Y[rows])
        if score(truth, sparse.vstack(parts, format="csr"), weight) > score(truth, by_rule, weight):
            self.decision_ = EXACT

    # -- answers ----------------------------------------------------------------------------------

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """(rows, labels) log-odds while nothing is told, ±30 of labels that never varied; of 1-D y with two classes (rows,)."""
        p = np.clip(self.predict_proba(X), np.exp(-CERTAIN), 1 - np.exp(-CERTAIN))
        odds = np.log(p) - np.log1p(-p)
        return odds[:, 1] if self.labels_.kind == "single" and odds.shape[1] == 2 else odds

    def predict_proba(self, X: Any, *, known: Any = None) -> NDArray[np.float64]:
        """p(y_i = 1 | x, what is told) (rows, labels); told labels are 0 or 1, as they were told.

        ``known`` : a table (rows, labels) of 1, 0 and holes (NaN, None, -1) where nothing is told, a data frame of some labels,
            or one dict a row, {label: True or False}, or None.

        Rows of which nothing is told are answered as without it: by the base, or by the joint's own marginals where these had the
        lower log-loss on rows left out (``marginals_of_``). With one label a row probabilities sum to one.
        """
        return self.conditionals(X).predict_proba(known)

    def conditionals(self, X: Any) -> Conditionals:
        """These rows, to be asked again and again as more is told of them: what the base says of them is found once."""
        self._fitted()
        blocks = [np.mean([fitted.answer(rows) for fitted in self.base_], axis=0) for rows in validated_blocks(self, X)]
        return Conditionals(self, self._logits(np.concatenate(blocks)))

    def base_proba(self, X: Any) -> NDArray[np.float64]:
        """(rows, labels) the base's marginals alone, by which rules decide where nothing is told."""
        return self._marginals(*self._asked(X, None), untold="base")

    def predict_new(self, X: Any, label_texts: Sequence[str]) -> NDArray[np.float64]:
        """(rows, texts) probabilities of labels that training knew nothing of: the mean over the base's models that read their
        labels (:meth:`enstruct.EnergyMultiLabelClassifier.predict_new`). The energy knows nothing of such labels. ConfigError for
        a base without ``label_texts``."""
        reading = [model for fitted in self._fitted().base_ if isinstance(fitted.base, ClassifierBase) for model in fitted.models]
        if not reading or not all(hasattr(model, "predict_new") for model in reading):
            raise ConfigError(
                "predict_new needs a base that reads its labels: base=EnergyMultiLabelClassifier('cross-entropy', "
                "encoder=TextEncoder(..., label_texts=)), by itself, and y without holes."
            )
        blocks = validated_blocks(self, X)
        return np.concatenate([np.mean([model.predict_new(rows, label_texts) for model in reading], axis=0) for rows in blocks])

    def disagreement(self, X: Any) -> NDArray[np.float64]:
        """(rows,) how far the base's models differ about a row: sum over labels of H(mean p) - mean H(p), in nats.

        That is the information which an answer about the row would give about the models, of which each has learnt from other
        rows, or in another way; what is uncertain to all of them alike an answer does not teach. 0 of a base of one model.
        """
        self._fitted()
        blocks = []
        for rows in validated_blocks(self, X):
            p = np.stack([fitted.base.marginals(model, rows) for fitted in self.base_ for model in fitted.models])
            blocks.append((_entropy(p.mean(0)) - _entropy(p).mean(0)).sum(1))
        return np.concatenate(blocks)

    def _probabilities(
        self, logits: NDArray[np.float32], told: NDArray[np.float32], sampling: Sampling = BY_DEFAULT
    ) -> NDArray[np.float64]:
        p = self._marginals(logits, told, self.marginals_of_, sampling)
        return p if self.legality_ is None else raised(self.legality_.whole, p)

    def _marginals(
        self, logits: NDArray[np.float32], told: NDArray[np.float32], untold: str, sampling: Sampling = BY_DEFAULT
    ) -> NDArray[np.float64]:
        """(rows, labels), of rows of which nothing is told by what ``untold`` names, "base" or "joint"."""
        if self._single:
            return self._expanded(self._joint(logits).marginals(torch.from_numpy(told)).numpy(), self.constants_)
        p = self._legal(expit(logits).astype(np.float64))
        some = ~np.isnan(told).all(1) if untold == "base" else np.ones(len(told), dtype=bool)
        if some.any():
            p[some] = sampling.marginals(self._joint(logits[some]), torch.from_numpy(told[some])).numpy()
        return self._expanded(p, self.constants_)

    def predict(self, X: Any, *, known: Any = None, decision: str | Gain | None = None, top_k: int | None = None) -> Any:
        """Label sets in the form y had in ``fit``, told labels as they were told.

        Without ``decision`` rows of which something is told get the set of largest expected F1, where that is the metric.

        decision : another fitted rule on marginals; "subset-accuracy", "example-f1", "hamming", "jaccard" or a callable
            gain(truth, predicted) -> (n,): the set of least expected risk under the joint (:mod:`enstruct.decisions.risk`).
        top_k : the k most probable labels instead.
        """
        check_one_rule(decision, top_k)
        chosen = self._finished(*self._decided(X, known, decision, top_k), known)
        return self.labels_.decode(chosen)

    def predict_by_rule(self, X: Any, *, known: Any = None, risks: Sequence[str] = ()) -> dict[str, Any]:
        """Fitted rule -> label sets as :meth:`predict` gives them under it; of ``risks``, names of decisions of least expected
        risk, and of the one in force, likewise, on the same samples."""
        for name in (risks := [risks] if isinstance(risks, str) else risks):
            decision_among("decision of least risk", RISKS)("risks", name)
        logits, told = self._asked(X, known)
        whole = self._marginals(logits, told, untold="base")
        chosen = {name: (self._by_rule(rule, whole), whole) for name, rule in self.rules_.items()}
        if self.decision_ in RISKS and self.decision_ not in risks:
            risks = [*risks, self.decision_]
        if risks:
            chosen |= zip(risks, self._of_least_risk(logits, told, [RISKS[name] for name in risks]), strict=True)
        return {name: self.labels_.decode(self._finished(*sets, known)) for name, sets in chosen.items()}

    def _finished(self, chosen: sparse.csr_matrix, p: NDArray[Any], known: Any) -> sparse.csr_matrix:
        """Label sets with told labels as told, that keep the rules; ``p`` (rows, labels): what they were decided by."""
        told = None if known is None else self._told(known)
        if told is not None:
            chosen = as_indicator(np.where(np.isnan(told), chosen.toarray(), told))
        return chosen if self.legality_ is None else self.legality_.sets(chosen, p, told)

    def _legal(self, p: NDArray[Any]) -> NDArray[Any]:
        """Marginals of independent labels (rows, labels that vary), once the rules are known to hold."""
        return p if self.legality_ is None else self.legality_.marginals(p).astype(p.dtype)

    def _told(self, known: Any) -> NDArray[np.float32]:
        """(rows, labels), with what follows by the rules, of rows of which something is told."""
        told = told_labels(known, self.labels_)
        if self._single:
            return follow_classes(told, self.classes_.tolist())
        if self.legality_ is None:
            return told
        return np.where(np.isnan(told).all(1, keepdims=True), told, self.legality_.told(told))

    def _decided(self, X: Any, known: Any, decision: Any, top_k: int | None) -> tuple[sparse.csr_matrix, NDArray[Any]]:
        """(label sets, the marginals that they were decided by)."""
        if decision is None and top_k is None and self._fitted().decision_ in RISKS:
            decision = self.decision_
        likeliest = self._fitted()._single and not callable(decision)  # of one class a row that is least risk of any kind
        if not likeliest and (callable(decision) or (isinstance(decision, str) and decision in RISKS)):
            return self._of_least_risk(*self._asked(X, known), [decision if callable(decision) else RISKS[decision]])[0]
        optional(decision_among("decision", [*self._fitted().rules_, *RISKS]))("decision", decision)
        if top_k is not None:
            check_whole(1, top_k=top_k)
        logits, told = self._asked(X, known)
        whole = self._marginals(logits, told, untold="base")  # which rules are fitted to
        if self._single or top_k is not None:
            return sets_of_size(whole, 1 if top_k is None or self._single else top_k), whole
        chosen = self._by_rule(self.rules_[self.decision_ if decision is None else decision], whole)
        if known is not None and decision is None and (self.decision, self.metric) == ("auto", "example-f1"):
            # rules are fitted where nothing is told: sizes and thresholds are others
            best = self._by_rule(ExpectedF1(allow_empty=self.rules_["expected-f1"].allow_empty), whole)
            chosen = as_indicator(np.where(np.isnan(told).all(1, keepdims=True), chosen.toarray(), best.toarray()))
        return chosen, whole

    def _by_rule(self, rule: Any, whole: NDArray[Any]) -> sparse.csr_matrix:
        """Label sets by a fitted rule, of marginals (rows, labels); of several classes the likeliest, whatever the rule."""
        if self._single:
            return sets_of_size(whole, 1)
        return as_indicator(self._expanded(rule.predict(whole[:, self.varying_]).toarray(), self.constants_))

    def _of_least_risk(
        self, logits: NDArray[np.float32], told: NDArray[np.float32], gains: Sequence[Any]
    ) -> list[tuple[sparse.csr_matrix, NDArray[Any]]]:
        """Label sets by each of the gains, with the shares of the samples that have each label, of all labels."""
        joint, none = self._joint(logits), self._expanded(told[:0], self.constants_)
        parts: list[list[NDArray[Any]]] = [[none] for _ in gains]
        shares = [none]
        for rows in torch.arange(len(told)).split(max(1, CELLS // (SAMPLES * told.shape[1]))):
            few = joint.take(rows)
            samples = few.sample(SAMPLES, torch.from_numpy(told)[rows])
            density, whole = few.log_density(samples).numpy(), self._expanded(samples.numpy(), self.constants_)
            shares.append(whole.mean(1))
            for part, gain in zip(parts, gains, strict=True):
                part.append(least_risk(whole.astype(np.uint8), gain, density).toarray())
        return [(as_indicator(np.concatenate(part)), np.concatenate(shares)) for part in parts]

    def sample(self, X: Any, n: int = 1, *, known: Any = None, random_state: Any = None) -> NDArray[np.uint8]:
        """(rows, n, labels) label sets from the joint, given what is told: independent draws, from row to row too.

        ``random_state``: None, that of ``fit``, for the same draws of the same rows each time; another whole number, or a
        generator that goes on (:class:`numpy.random.RandomState`), for others."""
        whole(1, 2**31)("n", n)
        logits, told = self._asked(X, known)
        seed = self.seed_ if random_state is None else seed_of(random_state)
        drawn = self._joint(logits, seed).apart().sample(n, torch.from_numpy(told)).numpy()
        return self._expanded(drawn, self.constants_).astype(np.uint8)

    def log_prob(self, X: Any, y: Any, *, known: Any = None, return_error: bool = False) -> Any:
        """(rows,) log p(y | x) in nats, of holes in y summed over; with ``known`` given what is told.

        Exact up to 16 labels, by annealed importance sampling beyond: ``return_error`` gives its standard errors (rows,) too.
        A label that never varied in training is as it was: -inf for y that has it otherwise.
        """
        logits, told = self._asked(X, known)
        Y = told_labels(y, self.labels_, "y")
        if len(Y) != len(logits):
            raise DataError(f"X has {len(logits)} rows and y {len(Y)}.")
        value, error = self._joint(logits).log_probability(torch.from_numpy(Y[:, self.varying_]), torch.from_numpy(told))
        impossible = (~np.isnan(Y) & ~np.isnan(self.constants_) & (self.constants_ != Y)).any(1)
        value = np.where(impossible, -np.inf, value)
        return (value, error) if return_error else value

    def energy(self, X: Any, y: Any, *, known: Any = None) -> NDArray[np.float64]:
        """(rows,) E(x, y) of whole label sets; lower is better. Soft rules add what they weigh; it is infinite of sets that break
        a rule that binds, that have a label otherwise than all training rows or, with ``known``, than was told: exp(-E) is what
        :meth:`log_prob` normalises."""
        logits, told = self._asked(X, known)
        Y = told_labels(y, self.labels_, "y")
        if len(Y) != len(logits):
            raise DataError(f"X has {len(logits)} rows and y {len(Y)}.")
        if np.isnan(Y).any():
            raise DataError("energy: y must be whole label sets, without holes; log_prob sums over holes.")
        varying = Y[:, self.varying_]
        values = -self._joint(logits).log_density(torch.from_numpy(varying).unsqueeze(1)).squeeze(1).double().numpy()
        possible = ~(~np.isnan(self.constants_) & (self.constants_ != Y)).any(1)
        if self.legality_ is not None:
            possible &= are_possible(self.legality_.varying, varying)
        possible &= (np.isnan(told) | (told == varying)).all(1)
        return np.where(possible, values, np.inf)

    def ask(self, X: Any, *, known: Any = None) -> NDArray[Any]:
        """(rows,) the label to ask for next: the one whose answer, whatever it is, leaves least to be learnt of the row.

        That is the largest expected drop of the sum of the labels' entropies, the asked label's own included. DataError for rows
        of which everything is told.
        """
        asked = self.conditionals(X)
        if not (left := np.isnan(asked.told(known)).any(1)).all():
            raise DataError(f"ask: all labels of row {int(np.flatnonzero(~left)[0])} are told.")
        return self.classes_[np.argmax(asked.drop_in_entropy(known), axis=1)]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """``metric`` of ``predict(X)`` (accuracy for 1-D y); where y has holes, of the labels that are known."""
        metric = get_metric(EXACT if self._fitted()._single else self.metric)
        return metric(truth_of(y, self.labels_), self._finished(*self._decided(X, None, None, None), None), sample_weight)

    def set_decision(self, decision: str) -> Self:
        """Put another fitted rule in force, or a decision of least risk by its name, without another fit."""
        decision_among("decision", [*self._fitted().rules_, *([] if self._single else RISKS)])("decision", decision)
        self.decision_ = self.decision = decision  # which rows told something go by, too
        return self

    def _fitted(self) -> Self:
        check_is_fitted(self, "energy_")
        return self

    @property
    def _single(self) -> bool:
        """Whether a row has one label, of several classes."""
        return self.labels_.kind == "single"

    def _logits(self, p: NDArray[np.float64]) -> NDArray[np.float32]:
        """What the energy sees of the base's marginals: their log-odds; of classes, of which a row has one, log p."""
        if not self._single:
            return logits_of(p)
        p = np.clip(p, CLIP, 1)
        return np.log(p / p.sum(1, keepdims=True)).astype(np.float32)

    def _asked(self, X: Any, known: Any) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """(base logits, told values with NaN), both (rows, labels that vary). DataError for what cannot be told."""
        asked = self.conditionals(X)
        return asked.logits, asked.told(known)

    def _checked(self, known: Any, shape: tuple[int, ...]) -> NDArray[np.float32]:
        """(rows, labels that vary), NaN where nothing is told."""
        if known is None:
            return np.full(shape, np.nan, dtype=np.float32)
        told = self._told(known)
        if len(told) != shape[0]:
            raise DataError(f"X has {shape[0]} rows and known {len(told)}: one row of known for each, NaN where nothing is told.")
        against = ~np.isnan(told) & ~np.isnan(self.constants_) & (told != self.constants_)
        if against.any():
            row, label = np.argwhere(against)[0]
            seen = "never" if self.constants_[label] == 0 else "always"
            had = "has" if told[row, label] else "lacks"
            raise DataError(
                f"known tells that row {row} {had} {shown(self.classes_.tolist()[label])}, which training rows {seen} had, so "
                "that nothing follows from it: leave it untold, or fit rows that show it."
            )
        return told[:, self.varying_]

    def _joint(self, logits: NDArray[np.float32], seed: int | None = None, energy: ResidualEnergy | None = None) -> Any:
        """Of rows with these logits (rows, labels that vary), under the rules."""
        if self._single:
            return Classes(torch.from_numpy(logits).double(), self.seed_ if seed is None else seed)
        energy = self.energy_ if energy is None else energy
        rules = None if self.legality_ is None else self.legality_.varying
        with torch.no_grad():
            z = torch.from_numpy(logits)
            return Joint(energy, energy.prepare(z), torch.sigmoid(z), self.seed_ if seed is None else seed, rules)

    def _expanded(self, table: NDArray[Any], constants: NDArray[Any]) -> NDArray[np.float64]:
        """(..., labels that vary) -> (..., labels)."""
        out = np.empty((*table.shape[:-1], len(constants)))
        out[...] = constants
        out[..., self.varying_] = table
        return out

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_label = True
        return tags
