"""Which given labels are probably wrong: those that neither x nor the row's other labels make likely.

    p_ni       = p(y_ni | x_n, y_n without i)          base and energy cross-fitted: neither has seen the labels of row n
    quality_ni = p(y_ni is right | p_ni)               where labels were noted as wrongly as they were found to be, all together
                                                       (:mod:`enstruct.estimators.label_noise`), or stands for another one
                                                       (:mod:`enstruct.joint.exchanges`)

A base alone asks p(y_ni | x_n); what the other labels say of label i is what the energy adds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, overload

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import expit, softmax

from enstruct.encoders.text import TextEncoder
from enstruct.energies.residual import ResidualEnergy
from enstruct.errors import ConfigError
from enstruct.estimators.fitted_on import FittedOn
from enstruct.estimators.joint import JointMultiLabelClassifier
from enstruct.estimators.label_noise import NoteNoise, quality_of
from enstruct.estimators.left_out import check_each_left_out
from enstruct.estimators.tag_issues import TagIssues, tag_issues
from enstruct.estimators.tagger import EnergySequenceTagger
from enstruct.estimators.told import told_labels
from enstruct.joint.exchanges import exchange_odds
from enstruct.joint.holes import given_others
from enstruct.rules import RuleSystem
from enstruct.rules.follow import are_possible
from enstruct.training.residual import refit
from enstruct.training.residual_candidates import Examples

TEMPERATURE = 0.1
"""Of the soft minimum over a row's cells (cleanlab's pooling of several labels): the lower, the more the worst cell counts."""


@dataclass(frozen=True)
class LabelIssues:
    """``quality`` (rows, labels) in [0, 1], how likely each given label is right, NaN where nothing was given; ``probability``
    (rows, labels), p of each label as given, by x and the row's other labels, from which ``quality`` is, and from exchanges of
    two labels where they were moved; ``classes`` (labels,) their names or numbers; ``noise``: an estimate of what share of labels
    that are there was not noted, or as another one, and of absent ones was, None where rows have one label each."""

    quality: NDArray[np.float64]
    probability: NDArray[np.float64]
    classes: NDArray[Any]
    noise: NoteNoise | None = None

    def cells(self) -> list[tuple[int, int, float]]:
        """(row, label number, quality) of every given cell, the least likely first."""
        flat = self.quality.ravel()
        order = np.argsort(flat, kind="stable")[: int((~np.isnan(flat)).sum())]
        row, label = np.divmod(order, self.quality.shape[1])
        return list(zip(row.tolist(), label.tolist(), flat[order].tolist(), strict=True))

    def rows(self) -> list[tuple[int, float]]:
        """(row, quality) by the soft minimum of its cells, the least likely first; without rows of which nothing is asked."""
        told = ~np.isnan(self.quality)
        asked = np.flatnonzero(told.any(1))
        told, quality = told[asked], np.nan_to_num(self.quality[asked])
        weights = softmax(np.where(told, (1 - quality) / TEMPERATURE, -np.inf), axis=1)
        pooled = (weights * quality).sum(1)
        order = np.argsort(pooled, kind="stable")
        return list(zip(asked[order].tolist(), pooled[order].tolist(), strict=True))


@overload
def find_label_issues(X: Any, Y: Any, base: EnergySequenceTagger, *, folds: int = 5, random_state: Any = None) -> TagIssues: ...


@overload
def find_label_issues(
    X: Any,
    Y: Any,
    base: Any = "auto",
    *,
    encoder: TextEncoder | None = None,
    folds: int = 5,
    minutes: float = 3.0,
    rules: Any = None,
    random_state: Any = None,
) -> LabelIssues: ...


def find_label_issues(
    X: Any,
    Y: Any,
    base: Any = "auto",
    *,
    encoder: TextEncoder | None = None,
    folds: int = 5,
    minutes: float = 3.0,
    rules: Any = None,
    random_state: Any = None,
) -> LabelIssues | TagIssues:
    """The quality of each given label of the rows, how likely it is right, cross-fitted; Y may have holes.

    ``base``, ``encoder``, ``folds``, ``minutes``, ``rules`` and ``random_state`` as of
    :class:`~enstruct.JointMultiLabelClassifier`, which raises what cannot be. Given labels that together break a rule have
    quality 0. With an unfitted :class:`~enstruct.EnergySequenceTagger` as ``base``, which has its own rules, X are sentences and
    Y their tags (:mod:`enstruct.estimators.tag_issues`).
    """
    check_each_left_out(folds != 1)  # before hours of a fit
    if isinstance(base, EnergySequenceTagger):
        if encoder is not None:
            raise ConfigError("encoder= reads texts, and a tagger reads words: leave it out.")
        if rules is not None:
            raise ConfigError("Rules over tags are a setting of the tagger: EnergySequenceTagger(..., rules=).")
        return tag_issues(X, Y, base, folds=folds, random_state=random_state)
    settings: dict[str, Any] = {"encoder": encoder, "folds": folds, "minutes": minutes, "rules": rules}
    settings["random_state"] = random_state
    return label_issues(JointMultiLabelClassifier(base, **settings).fit(X, Y), Y)


def label_issues(model: JointMultiLabelClassifier, Y: Any) -> LabelIssues:
    """Of the labels that ``model`` was fitted on. ConfigError for one of ``folds=1``."""
    check_each_left_out(model.fitted_on_.each_left_out)
    labels = told_labels(Y, model.labels_, "Y")
    probability = np.where(labels == model.constants_, 1.0, np.nan)  # of labels that never vary
    if model.labels_.kind == "single":  # the other classes of a row leave nothing open: what the base says of each is told
        p = model.fitted_on_.of_all(softmax(model.fitted_on_.logits, axis=1))
        probability[:, model.varying_] = np.where(labels[:, model.varying_] == 1, p, 1 - p)
        return LabelIssues(probability.copy(), probability, model.classes_)
    varying = None if model.legality_ is None else model.legality_.varying
    of_distinct, p_of_distinct, noise = conditional_quality(model.fitted_on_, model.seed_, varying)
    quality = probability.copy()
    for whole, distinct in ((quality, of_distinct), (probability, p_of_distinct)):
        whole[:, model.varying_] = model.fitted_on_.of_all(distinct)
        whole[np.isnan(labels)] = np.nan
    return LabelIssues(quality, probability, model.classes_, noise)


class Asked(NamedTuple):
    """Numbers of rows, an energy that has not seen their labels, and the rules that they keep."""

    rows: NDArray[np.intp]
    energy: ResidualEnergy
    rules: RuleSystem | None = None


def quality_by(
    asked: Sequence[Asked], logits: torch.Tensor, y: torch.Tensor, seed: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], NoteNoise | None]:
    """Quality and p(y_i | x, the other labels), (rows, labels) each, NaN in holes of y and in rows that nobody is asked of; and
    what was noted wrongly. ``logits`` (rows, labels): by x alone."""

    def by(what: Any) -> NDArray[np.float64]:
        out = np.full(y.shape, np.nan)
        for rows, energy, rules in asked:
            out[rows] = what(energy, logits[rows], y[rows], seed, rules).numpy()
        return out

    p, marginals = by(given_others), expit(logits.numpy().astype(np.float64))
    hang_together = any(energy.coupled or rules is not None for _, energy, rules in asked)
    exchanges = (lambda: by(exchange_odds)) if hang_together else None
    quality, noise = quality_of(p, y.numpy(), marginals, exchanges)
    return quality, p, noise


def conditional_quality(
    fit: FittedOn, seed: int, rules: RuleSystem | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64], NoteNoise | None]:
    """Quality and p(y_i | x, the other labels), (distinct rows, labels that vary) each, NaN in holes: of each fold by an energy
    of the chosen terms that was trained on the others. Quality of labels that break a rule that binds: 0. And what was noted
    wrongly."""
    table = fit.table
    weight = np.ones(len(table)) if table.weight is None else table.weight
    logits, y, weights = (torch.as_tensor(each, dtype=torch.float32) for each in (fit.logits, table.Y, weight))
    examples, asked = Examples(logits, y, weights), []
    possible = np.ones(len(table), dtype=bool) if rules is None else are_possible(rules, table.Y)
    for fold in fit.folds:
        others = np.setdiff1d(np.arange(len(table)), fold)
        taught = examples._replace(rules=rules).take(others[possible[others]])
        energy = refit(fit.candidate, taught, fit.epochs, seed)
        for rows, binding in ((fold[possible[fold]], rules), (fold[~possible[fold]], None)):
            if len(rows):
                asked.append(Asked(rows, energy, binding))
    quality, p, noise = quality_by(asked, logits, y, seed)
    if rules is not None and not possible.all():
        rows = np.flatnonzero(~possible)
        at_odds = (rules.broken(table.Y[rows])[:, rules.binds] @ abs(rules.matrix[rules.binds])) > 0
        quality[rows] = np.where(at_odds & ~np.isnan(table.Y[rows]), 0.0, quality[rows])
    return quality, p, noise
