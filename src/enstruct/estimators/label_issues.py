"""Which given labels are probably wrong: those that neither x nor the row's other labels make likely.

    quality_ni = p(y_ni | x_n, y_n without i)          base and energy cross-fitted: neither has seen the labels of row n

A base alone asks p(y_ni | x_n); what the other labels say of label i is what the energy adds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import softmax

from enstruct.estimators.joint import FittedOn, JointMultiLabelClassifier
from enstruct.estimators.told import told_labels
from enstruct.joint.holes import given_others
from enstruct.training.residual import Examples, refit

TEMPERATURE = 0.1
"""Of the soft minimum over a row's cells (cleanlab's pooling of several labels): the lower, the more the worst cell counts."""


@dataclass(frozen=True)
class LabelIssues:
    """``quality`` (rows, labels) in [0, 1], NaN where nothing was given; ``classes`` (labels,) their names or numbers."""

    quality: NDArray[np.float64]
    classes: NDArray[Any]

    def cells(self) -> list[tuple[int, int, float]]:
        """(row, label number, quality) of every given cell, the least likely first."""
        flat = self.quality.ravel()
        order = np.argsort(flat, kind="stable")[: int((~np.isnan(flat)).sum())]
        row, label = np.divmod(order, self.quality.shape[1])
        return list(zip(row.tolist(), label.tolist(), flat[order].tolist(), strict=True))

    def rows(self) -> list[tuple[int, float]]:
        """(row, quality) by the soft minimum of its cells, the least likely first."""
        told = ~np.isnan(self.quality)
        weights = softmax(np.where(told, (1 - np.nan_to_num(self.quality)) / TEMPERATURE, -np.inf), axis=1)
        pooled = (weights * np.nan_to_num(self.quality)).sum(1)
        order = np.argsort(pooled, kind="stable")
        return list(zip(order.tolist(), pooled[order].tolist(), strict=True))


def find_label_issues(
    X: Any, Y: Any, base: Any = "auto", *, folds: int = 5, minutes: float = 3.0, random_state: Any = None
) -> LabelIssues:
    """The quality of each given label of the rows, cross-fitted; Y may have holes.

    ``base``, ``folds``, ``minutes`` and ``random_state`` as of :class:`~enstruct.JointMultiLabelClassifier`, which raises what
    cannot be.
    """
    model = JointMultiLabelClassifier(base, folds=folds, minutes=minutes, random_state=random_state).fit(X, Y)
    labels = told_labels(Y, model.labels_, "Y")
    quality = np.where(labels == model.constants_, 1.0, np.nan)  # of labels that never vary
    quality[:, model.varying_] = conditional_quality(model.fitted_on_, model.seed_)[model.fitted_on_.group]
    return LabelIssues(np.where(np.isnan(labels), np.nan, quality), model.classes_)


def conditional_quality(fit: FittedOn, seed: int) -> NDArray[np.float64]:
    """(distinct rows, labels that vary) p(y_i | x, the other labels), NaN in holes: of each fold by an energy of the chosen terms
    that was trained on the others."""
    table = fit.table
    weight = np.ones(len(table)) if table.weight is None else table.weight
    logits, y, weights = (torch.as_tensor(each, dtype=torch.float32) for each in (fit.logits, table.Y, weight))
    examples = Examples(logits, y, weights)
    quality = np.full(table.Y.shape, np.nan)
    for fold in fit.folds:
        energy = refit(fit.candidate, examples.take(np.setdiff1d(np.arange(len(table)), fold)), fit.epochs, seed)
        own = examples.take(fold)
        quality[fold] = given_others(energy, own.logits, own.y, seed).numpy()
    return quality
