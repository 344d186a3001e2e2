"""Ranking metrics as counts of rows."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

from enstruct.metrics.base import ratio
from enstruct_bench.comparison.bootstrap import difference_over_splits
from enstruct_bench.holes.counted import average_precision, roc_auc


def answers(rows=60, labels=5, digits=1, seed=0):
    """Of few values, so that many cells tie; a third of the cells are not asked, and one label never is positive."""
    rng = np.random.default_rng(seed)
    Y = (rng.random((rows, labels)) < 0.4).astype(float)
    p = np.round(np.clip(0.3 + 0.3 * Y + 0.3 * rng.normal(size=Y.shape), 0, 1), digits)
    Y[:, 0] = 0
    asked = rng.random(Y.shape) < 2 / 3
    Y[~asked & (rng.random(Y.shape) < 0.5)] = np.nan
    return p, Y, asked


def precision(p, Y, asked, weight):
    return average_precision_score(Y[asked], p[asked], sample_weight=weight[:, None].repeat(Y.shape[1], 1)[asked])


def area(p, Y, asked, weight):
    of = []
    for label in range(1, Y.shape[1]):
        rows = asked[:, label]
        of.append(roc_auc_score(Y[rows, label], p[rows, label], sample_weight=weight[rows]))
    return np.mean(of)


@pytest.mark.parametrize(("counts", "score"), [(average_precision, precision), (roc_auc, area)])
def test_counts_come_to_the_score_and_to_its_slopes_in_the_weights_of_rows(counts, score):
    p, Y, asked = answers()
    n = len(Y)
    of_rows = counts(p, Y, asked)
    assert ratio(of_rows) == pytest.approx(score(p, Y, asked, np.ones(n)))
    assert ratio(of_rows.take(np.arange(n))) == ratio(of_rows)
    for row in (0, 7, 31):
        nudge = np.eye(n)[row] * 1e-4
        true = (score(p, Y, asked, 1 + nudge) - score(p, Y, asked, 1 - nudge)) / 2e-4
        counted = (ratio(of_rows, 1 + nudge) - ratio(of_rows, 1 - nudge)) / 2e-4
        assert counted == pytest.approx(true, abs=1e-6)


def test_intervals_are_those_of_scoring_every_draw_anew():
    p, Y, asked = answers(300, digits=3)
    worse = p + 0.2 * np.random.default_rng(1).normal(size=p.shape)
    apart = difference_over_splits([average_precision(p, Y, asked)], [average_precision(worse, Y, asked)])
    rng = np.random.default_rng(2)
    drawn = []
    for _ in range(400):
        weight = np.bincount(rng.integers(300, size=300), minlength=300)
        drawn.append(precision(worse, Y, asked, weight) - precision(p, Y, asked, weight))
    low, high = np.percentile(drawn, [2.5, 97.5])
    assert apart.low == pytest.approx(low, abs=0.25 * (high - low))
    assert apart.high == pytest.approx(high, abs=0.25 * (high - low))


def test_without_labels_of_both_values_there_is_no_area():
    Y = np.zeros((4, 2))
    assert ratio(roc_auc(Y, Y, Y == 0)) == 0
