"""Intervals of paired differences."""

import numpy as np
import pytest
from scipy import sparse

from enstruct.metrics import Counts
from enstruct_bench.comparison.bootstrap import difference_over_splits, paired_difference

MEANS = (0.10716037507899043, -0.029929684750720914, 0.23668913483909015)
RATIOS = (0.20722932986273113, 0.08647669238518965, 0.31068765310390456)
"""Of the rows below, as two functions gave them of old, one for means over rows and one for ratios of sums."""


def counted(scores):
    """Of (runs, rows)."""
    return [Counts.of(rows) for rows in scores]


def test_means_and_ratios_are_cases_of_one_formula():
    rng = np.random.default_rng(2)
    a, b = rng.random((2, 57)), rng.random((2, 57)) + 0.05
    assert paired_difference(counted(a), counted(b)) == pytest.approx(MEANS, abs=1e-12)
    size = rng.integers(0, 9, (2, 57))
    a, b = ([Counts.of(*rows) for rows in zip(rng.binomial(size, p), size, strict=True)] for p in (0.4, 0.6))
    assert paired_difference(a, b) == pytest.approx(RATIOS, abs=1e-12)


def test_the_mean_is_that_of_scores_of_several_parts():
    rng = np.random.default_rng(0)
    a, b = ([Counts(rng.integers(0, 3, (40, 2)), rng.integers(3, 5, (40, 2))) for _ in range(3)] for _ in range(2))
    scores = [np.mean([(run.above.sum(0) / run.below.sum(0)).mean() for run in runs]) for runs in (a, b)]
    difference = paired_difference(a, b)
    assert difference.mean == pytest.approx(scores[1] - scores[0])
    thin = [[Counts(*map(sparse.csr_matrix, run)) for run in runs] for runs in (a, b)]
    assert paired_difference(*thin) == difference


def test_interval_covers_the_true_difference_about_95_times_in_100():
    rng = np.random.default_rng(0)
    covered = 0
    for trial in range(200):
        rows = rng.normal(0.02, 0.3, size=200)
        seeds = rng.normal(0, 0.005, size=(5, 1))
        b = rows + seeds + rng.normal(0, 0.1, size=(5, 200))
        difference = paired_difference(counted(np.zeros((5, 200))), counted(b), replicates=300, seed=trial)
        covered += difference.low <= 0.02 <= difference.high
    assert 180 <= covered <= 200


def test_few_seeds_that_differ_much_are_not_taken_for_all_there_are():
    """Seeds drawn from five alone vary by a fifth less than new ones do."""
    b = np.arange(5.0)[:, None] + np.zeros((5, 30))
    difference = paired_difference(counted(np.zeros((5, 30))), counted(b), replicates=4000)
    drawn = np.random.default_rng(1).choice(5, size=(4000, 5)).mean(1)
    low, high = np.percentile(2 + (drawn - 2) * np.sqrt(5 / 4), [2.5, 97.5])
    assert difference.mean == 2
    assert difference.low == pytest.approx(low, abs=0.05)
    assert difference.high == pytest.approx(high, abs=0.05)


def test_identical_methods_differ_by_nothing():
    a = counted(np.random.default_rng(0).random((3, 50)))
    assert paired_difference(a, a) == (0.0, 0.0, 0.0)


def test_the_pairing_narrows_the_interval():
    rng = np.random.default_rng(0)
    rows = rng.random((1, 400))
    difference = paired_difference(counted(np.repeat(rows, 3, 0)), counted(np.repeat(rows, 3, 0) + 0.01))
    assert difference.low == pytest.approx(0.01)
    assert difference.high == pytest.approx(0.01)


def test_the_interval_of_a_ratio_of_sums_covers_the_truth_as_often_as_it_says():
    rng = np.random.default_rng(1)
    hits = 0
    for trial in range(100):
        size = rng.integers(1, 10, 150).astype(float)
        rows = [[Counts.of(rng.binomial(size.astype(int), p), size)] for p in (0.5, 0.6)]
        difference = paired_difference(*rows, replicates=200, seed=trial)
        hits += difference.low <= 0.1 <= difference.high
    assert 85 <= hits <= 100


def test_one_split_is_one_run_of_the_same_rows():
    rng = np.random.default_rng(4)
    a, b = ([Counts.of(rng.random(40))] for _ in range(2))
    assert difference_over_splits(a, b) == pytest.approx(paired_difference(a, b))


def test_splits_may_differ_in_their_rows():
    rng = np.random.default_rng(5)
    a = [Counts.of(rng.random(n)) for n in (300, 310)]
    b = [Counts.of(side.above[:, 0] + 0.25) for side in a]
    assert difference_over_splits(a, b) == pytest.approx((0.25, 0.25, 0.25))
    noisy = [Counts.of(side.above[:, 0] + rng.normal(0.25, 1, len(side.above))) for side in a]
    interval = difference_over_splits(a, noisy)
    assert interval.low < interval.mean < interval.high
    assert 0.1 < interval.high - interval.low < 0.5


def test_splits_that_differ_widen_the_interval():
    rows = np.zeros(50)
    apart = [Counts.of(rows + shift) for shift in (0.0, 1.0, 2.0)]
    interval = difference_over_splits([Counts.of(rows)] * 3, apart)
    assert interval.mean == pytest.approx(1)
    assert interval.high - interval.low > 1
