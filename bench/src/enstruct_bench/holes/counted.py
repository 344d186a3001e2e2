"""Ranking metrics as what each row counts, so that intervals over draws of rows are made as those of means are.

Average precision and the area under ROC are no ratios of sums over rows. What a row counts is the metric's slope in the row's
weight: the score of all rows is exact, that of a draw is right to first order (Hampel's influence function; the bootstrap of it).

    average precision  A = sum over positives c of q_c / P         q_c: precision among the n_c cells that score no less than c
        counts of a row, over its positives:  sum of q_c over its positives + sum over its cells d of
                                              sum over positives c that score no more than d of (y_d - q_c) / n_c
    area under ROC of a label = U / (P N)                          a positive's part: share of negatives below it, less the area,
                                                                   over P; a negative's likewise: positives above it, over N
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from enstruct.metrics import Counts
from enstruct_bench.joint.table import Array


def average_precision(p: Array, Y: Array, asked: Array) -> Counts:
    """Of all asked cells together (micro)."""
    rows, labels = np.nonzero(asked)
    score, y = p[rows, labels], Y[rows, labels] > 0.5
    order = np.argsort(-score, kind="stable")
    rows, score, y = rows[order], score[order], y[order].astype(np.float64)
    last = np.searchsorted(-score, -score, side="right")  # cells of one score come together
    precision = np.cumsum(y)[last - 1] / last
    first = np.searchsorted(-score, -score, side="left")
    shares, weighed = (_from_here_on(y * each / last)[first] for each in (1.0, precision))
    above = np.bincount(rows, y * precision + y * shares - weighed, len(Y))
    return Counts.of(above, np.bincount(rows, y, len(Y)))


def roc_auc(p: Array, Y: Array, asked: Array) -> Counts:
    """Mean over the labels that have both values among their asked cells."""
    areas, slopes = [], np.zeros(len(Y))
    for label in range(Y.shape[1]):
        rows = np.flatnonzero(asked[:, label])
        positive = Y[rows, label] > 0.5
        n_positive, n_negative = int(positive.sum()), int((~positive).sum())
        if not n_positive or not n_negative:
            continue
        score = p[rows, label]
        beaten = rankdata(score)[positive] - rankdata(score[positive])  # negatives below, of ties a half
        over = (len(rows) + 1 - rankdata(score)[~positive]) - (n_negative + 1 - rankdata(score[~positive]))
        area = beaten.sum() / (n_positive * n_negative)
        slopes[rows[positive]] += (beaten / n_negative - area) / n_positive
        slopes[rows[~positive]] += (over / n_positive - area) / n_negative
        areas.append(area)
    if not areas:
        return Counts.of(np.zeros(len(Y)))
    return Counts.of(np.mean(areas) + slopes * len(Y) / len(areas))


def _from_here_on(values: Array) -> NDArray[np.float64]:
    return np.asarray(np.cumsum(values[::-1])[::-1])
