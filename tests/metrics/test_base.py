"""Ratios of sums of what rows count, dense and CSR."""

import numpy as np
import pytest
from scipy import sparse

from enstruct.metrics import Counts, Metric, ratio

ABOVE, BELOW = np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 0.0]]), np.array([[2.0, 0.0], [2.0, 0.0], [4.0, 0.0]])


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_a_ratio_is_the_mean_over_parts_of_ratios_of_sums(form):
    counts = Counts(form(ABOVE), form(BELOW))
    assert ratio(counts) == (3 / 8 + 0.0) / 2
    assert ratio(counts, empty=1.0) == (3 / 8 + 1.0) / 2  # the second part counts nothing
    assert ratio(counts, [0.5, 1.0, 0.0]) == (2.5 / 3 + 0.0) / 2
    assert ratio(counts.take([1])) == 0.5


def test_counts_of_one_part():
    whole = Counts.of([1, 0, 1])
    assert ratio(whole) == pytest.approx(2 / 3)
    assert ratio(Counts.joined([whole, Counts.of([1.0], 3.0)])) == pytest.approx(3 / 6)
    hits = Metric(lambda truth, predicted: Counts.of(np.equal(truth, predicted)))
    assert hits([1, 2], [1, 3]) == 0.5
    assert hits([1, 2], [1, 3], [3, 1]) == 0.75
